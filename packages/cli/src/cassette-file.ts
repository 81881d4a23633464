/** Reads the cassettes named on a command line. */
import { readFile } from 'node:fs/promises';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { Cassette } from 'quittance/internal/replay/cassette';
import { readCassette } from 'quittance/internal/replay/write-cassette';
import type { Given } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { shellWord } from './find-call.ts';
import { UsageError } from './usage-error.ts';

export function cassetteFile(given: Given, command: 'show' | 'seal'): string {
  const [path] = given.args;
  if (path === undefined)
    throw new UsageError('Missing path of a cassette.', [
      `quittance cassette ${command} <file>`,
      'quittance cassette export <session> --out FILE',
    ]);
  return path;
}

export const readTextFile = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR'))
      throw new UsageError(error.code === 'ENOENT' ? `There is no file ${path}.` : `${path} is a folder.`, [
        'quittance cassette export <session> --out FILE',
      ]);
    throw error;
  });

export const readCassetteFile = async (path: string): Promise<Cassette> =>
  orExplain(path, readCassette, await readTextFile(path));

/** Adds the file name to the error of a broken cassette. */
export function orExplain<Result>(path: string, read: (text: string) => Result, text: string): Result {
  try {
    return read(text);
  } catch (error) {
    if (!isQuittanceError(error, 'cassette.invalid')) throw error;
    const wasChanged = 'sealed' in error.facts;
    throw new UsageError(
      `${path}: ${error.message}`,
      wasChanged
        ? [`quittance cassette seal ${shellWord(path)}`]
        : ['quittance cassette export <session> --out FILE'],
      exitCodes.bad,
    );
  }
}
