/**
 * The credentials of `quittance login`, by server, in a file that only its owner can read. A file that others could
 * read or change is refused.
 */
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import { replaceFile } from 'quittance/internal/store/files/replace-file';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';
import type { Environment } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export type Credential = { readonly server: string; readonly token: string };
type Stored = { readonly current: string | undefined; readonly tokens: Readonly<Record<string, string>> };

/** `QUITTANCE_CREDENTIALS`, or a file in the user's folder for configuration. */
export function credentialsPath(env: Environment): string {
  const { QUITTANCE_CREDENTIALS: named, XDG_CONFIG_HOME: folder, HOME: home, USERPROFILE: profile } = env;
  if (named) return named;
  const base = folder || (home || profile ? join(home || profile || '', '.config') : undefined);
  if (base !== undefined) return join(base, 'quittance', 'credentials.json');
  throw new UsageError('There is no home folder for credentials.', [
    'export QUITTANCE_CREDENTIALS=path/to/credentials.json',
  ]);
}

/** The same, for the list of files that calls must not touch. Without a home folder there is none. */
export function credentialFiles(env: Environment): readonly string[] {
  return env['QUITTANCE_CREDENTIALS'] || env['XDG_CONFIG_HOME'] || env['HOME'] || env['USERPROFILE']
    ? [credentialsPath(env)]
    : [];
}

/** The credential of a server, or of the last one that was signed in to. */
export function readCredential(env: Environment, server: string | undefined): Credential | undefined {
  const { current, tokens } = read(credentialsPath(env));
  const wanted = server ?? current;
  const token = wanted === undefined || !Object.hasOwn(tokens, wanted) ? undefined : tokens[wanted];
  return wanted === undefined || token === undefined ? undefined : { server: wanted, token };
}

export function writeCredential(env: Environment, { server, token }: Credential): string {
  const path = credentialsPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  write(path, { current: server, tokens: { ...read(path).tokens, [server]: token } });
  return path;
}

export function removeCredential(env: Environment, server: string): void {
  const path = credentialsPath(env);
  const { current, tokens } = read(path);
  const left = Object.fromEntries(Object.entries(tokens).filter(([each]) => each !== server));
  if (Object.keys(left).length === 0) rmSync(path, { force: true });
  else write(path, { current: current === server ? Object.keys(left)[0] : current, tokens: left });
}

function read(path: string): Stored {
  const none: Stored = { current: undefined, tokens: {} };
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return none;
  checkPrivateFile({ path, what: 'credentials file', secret: true });
  let value;
  try {
    value = readJsonText(readFileSync(path, 'utf8'));
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value) || !isJsonObject(value['tokens']))
    throw new UsageError(`${path} does not hold credentials.`, [`rm ${path}`, 'quittance login URL']);
  const { current, tokens } = value;
  const texts = Object.entries(tokens).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { current: typeof current === 'string' ? current : undefined, tokens: Object.fromEntries(texts) };
}

const write = (path: string, content: Stored): void =>
  replaceFile(path, `${JSON.stringify({ version: 1, ...content }, undefined, 1)}\n`);
