/**
 * Finds the seal key of a ledger in a database. The key is never stored in that database, because a reader of the
 * database could then open sealed data.
 *
 * The sources, in this order: the options of the program, one environment variable, the file `.quittance/seal.key`. The
 * first process creates that file. The ledger refuses a process with another key.
 */
import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { checkPrivateFile } from '../runtime/files/private-file.ts';
import { readSealKeyFile, sealKeyBytes } from './sqlite/seal-key-file.ts';

export type SealKeyOptions = {
  readonly sealKey?: Uint8Array | undefined;
  readonly sealKeyFile?: string | undefined;
};
/** `sealKeyFile` is the file that the key came from, which no call may touch. */
export type FoundSealKey = { readonly sealKey: Uint8Array; readonly sealKeyFile?: string | undefined };

type Environment = Readonly<Record<string, string | undefined>>;

const variables = ['QUITTANCE_SEAL_KEY', 'QUITTANCE_SEAL_KEY_FILE', 'QUITTANCE_SEAL_KEY_COMMAND'] as const;
const defaultFile = '.quittance/seal.key';
const commandTimeoutMs = 30_000;

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
  if (content.length === sealKeyBytes) return { sealKey: new Uint8Array(content), sealKeyFile };
  return { sealKey: parseKey(content.toString('latin1'), `The seal key file ${sealKeyFile}`), sealKeyFile };
}

function fromDefaultFile(): FoundSealKey | undefined {
  const sealKeyFile = resolve(defaultFile);
  if (!existsSync(sealKeyFile)) return undefined;
  return { sealKey: readSealKeyFile(sealKeyFile, false), sealKeyFile };
}

function makeDefaultFile(): FoundSealKey {
  const sealKeyFile = resolve(defaultFile);
  try {
    mkdirSync(dirname(sealKeyFile), { recursive: true, mode: 0o700 });
    return { sealKey: readSealKeyFile(sealKeyFile), sealKeyFile };
  } catch (error) {
    throw invalid(
      `The seal key file ${sealKeyFile} cannot be read or created: ${(error as Error).message} ` +
        'Set QUITTANCE_SEAL_KEY_FILE to a file with 32 random bytes as hex.',
      error,
    );
  }
}

/** 32 bytes as hex or base64. Never says what was found: it may be most of a key. */
function parseKey(text: string, source: string): Uint8Array {
  const trimmed = text.trim();
  const bytes = /^[0-9a-f]{64}$/i.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : /^[\w+/-]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
      : undefined;
  if (bytes?.length === sealKeyBytes) return new Uint8Array(bytes);
  throw invalid(
    `${source} is not a seal key. A seal key is ${sealKeyBytes} bytes as 64 hex digits or as base64, for example ` +
      'from: openssl rand -hex 32',
  );
}

function runCommand(command: string): string {
  try {
    return execSync(command, {
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
