/** The change of one entry of a client's configuration, so that its server runs behind the gateway, and back. */
import type { ConfigTable } from './config-document.ts';
import { isTable } from './config-document.ts';
import { isSandboxed, signInKeys, transportOf, urlKey } from './read-server.ts';
import type { ServerRow, ServerTable } from './server-table.ts';
import type { ServerUrlRules } from './server-url.ts';
import { findServerUrlProblem } from './server-url.ts';
import type { WrapArguments, WrapTarget } from './wrap-arguments.ts';
import { readWrapWords, toWrapWords } from './wrap-arguments.ts';

/** Keys with their new values. Undefined removes a key. */
export type EntryChange = ReadonlyMap<string, unknown>;

export type WrappedEntry =
  | { readonly status: 'wrapped'; readonly change: EntryChange }
  | { readonly status: 'already' }
  | { readonly status: 'left'; readonly reason: string };

export type Wrapper = Pick<WrapArguments, 'ledger' | 'settings' | 'observe'> &
  ServerUrlRules & {
    /** The command that starts this program, with its first arguments. */
    readonly program: readonly [string, ...string[]];
  };

type Dialect = ServerTable['dialect'];

const left = (reason: string): WrappedEntry => ({ status: 'left', reason });

/** Is the entry one that `wrapEntry` wrote? */
export const isWrapped = (entry: ConfigTable): boolean =>
  Array.isArray(entry['args']) && readWrapWords(entry['args']) !== undefined;

/** Variables that hold the secrets of a remote server. */
const headerVariable = (index: number): string => `QUITTANCE_MCP_HEADER_${index + 1}`;
const urlVariable = 'QUITTANCE_MCP_URL';

export function wrapEntry(row: ServerRow, dialect: Dialect, wrapper: Wrapper): WrappedEntry {
  const { entry } = row;
  if (isWrapped(entry)) return { status: 'already' };
  const { command, args = [], env } = entry;
  const why = findObstacle(entry);
  if (why !== undefined) return left(why);
  if (env !== undefined && !isTable(env)) return left('its "env" is not an object');
  const transport = transportOf(entry, command !== undefined);
  const change = new Map<string, unknown>();
  const wrap = (target: WrapTarget): WrappedEntry => {
    const [first, ...rest] = wrapper.program;
    const { ledger, settings, observe } = wrapper;
    const words = toWrapWords({
      name: row.name,
      ...(ledger !== undefined && { ledger }),
      ...(settings !== undefined && { settings }),
      trusted: false,
      observe,
      target,
    });
    change.set('command', first);
    change.set('args', [...rest, ...words]);
    return { status: 'wrapped', change };
  };
  if (typeof command === 'string') {
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string'))
      return left('its "args" are not a list of texts');
    const { envFile, env_vars: named = [] } = entry;
    if (!Array.isArray(named)) return left('its "env_vars" are not a list');
    const names = named.map((each: unknown) => String(isTable(each) ? each['name'] : each));
    const variables = [...new Set([...Object.keys(env ?? {}), ...names])];
    // The command line would take it for an option.
    if (variables.some((name) => name.startsWith('-'))) return left('a name in its "env" starts with "-"');
    return wrap({
      type: 'stdio',
      command,
      args,
      env: variables,
      ...(typeof envFile === 'string' && { envFile }),
    });
  }
  const url = entry['url'];
  if (env !== undefined && !isTexts(env)) return left('its "env" is not an object of texts');
  if (typeof url !== 'string') return left('it has neither a "command" nor a "url"');
  const problem = urlProblem(url, wrapper);
  if (problem !== undefined) return left(`its "url" ${problem}`);
  const signIn = signInKeys.find((key) => entry[key] !== undefined);
  if (signIn !== undefined) return left(`its client signs in by "${signIn}"`);
  const headers = entry[dialect === 'codex' ? 'http_headers' : 'headers'] ?? {};
  const fromVariables = entry['env_http_headers'] ?? {};
  const bearer = entry['bearer_token_env_var'];
  if (!isTexts(headers) || !isTexts(fromVariables)) return left('its headers are not texts');
  for (const key of ['url', 'headers', 'http_headers', 'env_http_headers', 'bearer_token_env_var'])
    if (entry[key] !== undefined) change.set(key, undefined);
  for (const key of ['type', 'transport'])
    if (entry[key] !== undefined || (dialect === 'vscode' && key === 'type')) change.set(key, 'stdio');
  const secrets = Object.entries(headers).map(
    ([header, value], index) => [header, headerVariable(index), value] as const,
  );
  const isSecret = mayHoldSecret(url);
  const variables = {
    ...env,
    ...Object.fromEntries(secrets.map(([, variable, value]) => [variable, value])),
    ...(isSecret && { [urlVariable]: url }),
  };
  const passed = [...Object.values(fromVariables), ...(typeof bearer === 'string' ? [bearer] : [])];
  const wrapped = wrap({
    type: transport === 'sse' ? 'sse' : 'http',
    url: isSecret ? { variable: urlVariable } : { text: url },
    headers: [
      ...secrets.map(([header, variable]) => [header, variable] as const),
      ...Object.entries(fromVariables),
    ],
    ...(typeof bearer === 'string' && { bearerVariable: bearer }),
  });
  if (Object.keys(variables).length > 0) change.set('env', variables);
  if (passed.length > 0) change.set('env_vars', [...new Set(passed)]);
  return wrapped;
}

/** Why the gateway could not govern or would not start the server of this entry. */
function findObstacle(entry: ConfigTable): string | undefined {
  if (isSandboxed(entry)) return 'its client runs it in a sandbox';
  const { command } = entry;
  const addressKey = urlKey(entry);
  // One client uses the command, another the address, which would go past the gateway.
  if (command !== undefined && addressKey !== undefined)
    return `it has both a "command" and a "${addressKey}"; remove one of them`;
  if (command === undefined && addressKey === undefined) return 'it has neither a "command" nor a "url"';
  const transport = transportOf(entry, command !== undefined);
  if (transport === undefined) return 'its transport is not known';
  if ((transport === 'stdio') !== (command !== undefined)) return 'its transport does not fit the entry';
  return command === '' ? 'its "command" is empty' : undefined;
}

/** The client replaces variables, so only a URL without them is known. */
function urlProblem(text: string, rules: ServerUrlRules): string | undefined {
  if (text.includes('${')) return undefined;
  return URL.canParse(text) ? findServerUrlProblem(new URL(text), rules) : 'is not a URL';
}

/**
 * A query, a password, a variable or a long word in a path may be a secret, e.g. `https://example.com/s/NzQ1ZjkwYjEyMw/mcp`.
 * Other users can list the arguments of a process.
 */
const mayHoldSecret = (url: string): boolean =>
  /[?@#]|\$\{/.test(url) ||
  url
    .split('/')
    .slice(3)
    .some((word) => word.length >= 16);

/** The change that turns a wrapped entry back, for an entry whose original text is not known. */
export function unwrapEntry({ entry }: ServerRow, dialect: Dialect): EntryChange | undefined {
  const wrapped = Array.isArray(entry['args']) ? readWrapWords(entry['args']) : undefined;
  if (wrapped === undefined) return undefined;
  const { target } = wrapped;
  if (target.type === 'stdio')
    return new Map<string, unknown>([
      ['command', target.command],
      ['args', target.args],
    ]);
  const env = isTexts(entry['env']) ? entry['env'] : {};
  const kept = Object.entries(env).filter(([name]) => !/^QUITTANCE_MCP_(?:HEADER_\d+|URL)$/.test(name));
  const isOurs = (variable: string): boolean =>
    Object.hasOwn(env, variable) && variable.startsWith('QUITTANCE_MCP_');
  const headers = target.headers.filter(([, variable]) => isOurs(variable));
  const others = target.headers.filter(([, variable]) => !isOurs(variable));
  const change = new Map<string, unknown>([
    ['command', undefined],
    ['args', undefined],
    ['env', kept.length === 0 ? undefined : Object.fromEntries(kept)],
    ['url', 'text' in target.url ? target.url.text : env[target.url.variable]],
  ]);
  for (const key of ['type', 'transport']) if (entry[key] !== undefined) change.set(key, target.type);
  if (headers.length > 0)
    change.set(
      dialect === 'codex' ? 'http_headers' : 'headers',
      Object.fromEntries(headers.map(([header, variable]) => [header, env[variable]])),
    );
  if (others.length > 0) change.set('env_http_headers', Object.fromEntries(others));
  if (target.bearerVariable !== undefined) change.set('bearer_token_env_var', target.bearerVariable);
  if (entry['env_vars'] !== undefined) change.set('env_vars', undefined);
  return change;
}

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  isTable(value) && Object.values(value).every((each) => typeof each === 'string');
