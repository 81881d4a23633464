/**
 * Finds the seal key of a ledger in a database. The key is never stored in that database, because a reader of the
 * database could then open sealed data.
 *
 * The sources, in this order: the options of the program, one environment variable, the file `.quittance/seal.key`. The
 * first process creates that file. The ledger refuses a process with another key.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { createKeyRing, formatKeyRing, isKeyRing } from '../ledger/seal.ts';
import { checkPrivateFile } from '../runtime/own-files.ts';
import type { KeyMaking } from './sqlite/seal-key-file.ts';
import { readSealKeyFile, sealKeyBytes } from './sqlite/seal-key-file.ts';

export type SealKeyOptions = {
  readonly sealKey?: Uint8Array | undefined;
  readonly sealKeyFile?: string | undefined;
};
/** `sealKeyFile` is the file that the key came from, which no call may touch. */
export type FoundSealKey = {
  readonly sealKey: Uint8Array;
  readonly sealKeyFile?: string | undefined;
  /** Reads the file again: another process may have rotated the keys. */
  readonly readSealKey?: (() => Uint8Array) | undefined;
};

type Environment = Readonly<Record<string, string | undefined>>;

const variables = ['QUITTANCE_SEAL_KEY', 'QUITTANCE_SEAL_KEY_FILE', 'QUITTANCE_SEAL_KEY_COMMAND'] as const;
const defaultFile = '.quittance/seal.key';
const commandTimeoutMs = 30_000;

/** The key that the options or a variable name; undefined if none was given. */
export const findGivenSealKey = (env: Environment, options: SealKeyOptions): FoundSealKey | undefined =>
  fromOptions(options) ?? fromEnvironment(env);

/** The key; undefined if none was given and there is no default file. */
export const findSealKey = (env: Environment, options: SealKeyOptions): FoundSealKey | undefined =>
  fromOptions(options) ?? fromEnvironment(env) ?? fromDefaultFile();

/** The key, for a process that makes calls. Creates the default file if there is no key. */
export const needSealKey = (env: Environment, options: SealKeyOptions): FoundSealKey =>
  fromOptions(options) ?? fromEnvironment(env) ?? makeDefaultFile();

function fromOptions({ sealKey, sealKeyFile }: SealKeyOptions): FoundSealKey | undefined {
  if (sealKey !== undefined) return { sealKey, sealKeyFile };
  return sealKeyFile === undefined ? undefined : fromFile(sealKeyFile, 'the option sealKeyFile');
}

function fromEnvironment(env: Environment): FoundSealKey | undefined {
  const given = variables.filter((name) => (env[name] ?? '') !== '');
  if (given.length > 1)
    throw invalid(`Set only one of ${given.join(' and ')}: they could name different seal keys.`);
  const [name] = given;
  if (name === undefined) return undefined;
  const value = env[name] ?? '';
  switch (name) {
    case 'QUITTANCE_SEAL_KEY':
      return { sealKey: parseKey(value, name) };
    case 'QUITTANCE_SEAL_KEY_FILE':
      return fromFile(value, name);
    case 'QUITTANCE_SEAL_KEY_COMMAND':
      return { sealKey: parseKey(runCommand(value), `The output of ${name}`) };
  }
}

function fromFile(path: string, source: string): FoundSealKey {
  const sealKeyFile = resolve(path);
  checkPrivateFile({ path: sealKeyFile, what: 'seal key', secret: false });
  let content: Buffer;
  try {
    content = readFileSync(sealKeyFile);
  } catch (error) {
    throw invalid(
      `The seal key file ${sealKeyFile} of ${source} cannot be read: ${(error as NodeJS.ErrnoException).code}.`,
      error,
    );
  }
  const sealKey =
    content.length === sealKeyBytes
      ? new Uint8Array(content)
      : parseKey(content.toString('latin1'), `The seal key file ${sealKeyFile}`);
  return { sealKey, sealKeyFile, readSealKey: () => fromFile(path, source).sealKey };
}

function fromDefaultFile(): FoundSealKey | undefined {
  const sealKeyFile = resolve(defaultFile);
  if (!existsSync(sealKeyFile)) return undefined;
  return foundIn(sealKeyFile, 'read only');
}

const foundIn = (sealKeyFile: string, making: KeyMaking): FoundSealKey => ({
  sealKey: readSealKeyFile(sealKeyFile, making),
  sealKeyFile,
  readSealKey: () => readSealKeyFile(sealKeyFile, 'read only'),
});

function makeDefaultFile(): FoundSealKey {
  const sealKeyFile = resolve(defaultFile);
  try {
    mkdirSync(dirname(sealKeyFile), { recursive: true, mode: 0o700 });
    return foundIn(sealKeyFile, 'make');
  } catch (error) {
    throw invalid(
      `The seal key file ${sealKeyFile} cannot be read or created: ${(error as Error).message} ` +
        'Set QUITTANCE_SEAL_KEY_FILE to a file with 32 random bytes as hex.',
      error,
    );
  }
}

/**
 * One key as hex or base64; several with commas or spaces between them, the current one first; or the file that
 * `quittance rotate-key` writes. Never says what was found: it may be most of a key.
 */
function parseKey(text: string, source: string): Uint8Array {
  const written = new Uint8Array(Buffer.from(text, 'latin1'));
  if (isKeyRing(written)) return written;
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const digest = words.find((word) => word.startsWith('digest:'))?.slice('digest:'.length);
  const [current, ...older] = words.filter((word) => !word.startsWith('digest:')).map(parseWord);
  const digestKey = digest === undefined ? undefined : parseWord(digest);
  if (
    current !== undefined &&
    older.every((key) => key !== undefined) &&
    (digest === undefined) === (digestKey === undefined)
  ) {
    const ring = createKeyRing([current, ...older]);
    return formatKeyRing(digestKey === undefined ? ring : { ...ring, digestKey });
  }
  throw invalid(
    `${source} is not a seal key. A seal key is ${sealKeyBytes} bytes as 64 hex digits or as base64, for example ` +
      'from: openssl rand -hex 32',
  );
}

function parseWord(word: string): Uint8Array | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(word)
    ? Buffer.from(word, 'hex')
    : /^[\w+/-]{43}=?$/.test(word)
      ? Buffer.from(word.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
      : undefined;
  return bytes?.length === sealKeyBytes ? new Uint8Array(bytes) : undefined;
}

function runCommand(command: string): string {
  try {
    // Loaded here: few programs have such a command, and it takes milliseconds.
    return process.getBuiltinModule('node:child_process').execSync(command, {
      encoding: 'utf8',
      timeout: commandTimeoutMs,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch (error) {
    const { status, code } = error as { readonly status?: number | null; readonly code?: string };
    throw invalid(
      `The command of QUITTANCE_SEAL_KEY_COMMAND failed: ${code ?? `it exited with ${String(status)}`}.`,
    );
  }
}

const invalid = (message: string, cause?: unknown): QuittanceError =>
  new QuittanceError('config.invalid', message, {}, cause);
