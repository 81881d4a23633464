import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { exitCodes } from './exit-code.ts';
import { whyRefused } from './system-error.ts';
import { shellWord } from './find-call.ts';
import { UsageError } from './usage-error.ts';

/**
 * Refuses the target of a command before the command reads the ledger. `overwrite`: the command that overwrites an
 * existing file, or undefined if that is allowed.
 */
export function checkOutputFile(path: string, overwrite: string | undefined): void {
  const folder = dirname(path);
  try {
    // A file in place of the folder is refused too.
    statSync(`${folder}/.`);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true)
      throw new UsageError(`${path} is a folder. Name a file.`, [
        `name a file in it, such as ${shellWord(`${path}/out`)}`,
      ]);
    if (found !== undefined && overwrite !== undefined)
      throw new UsageError(`${path} already exists.`, [overwrite]);
  } catch (error) {
    const why = whyRefused(error);
    if (why === undefined) throw error;
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new UsageError(
      `Cannot write ${path}: ${isMissing ? `there is no folder ${folder}` : why}.`,
      isMissing ? [`mkdir -p ${shellWord(folder)}`] : ['name a file in another folder'],
      exitCodes.broken,
    );
  }
}
