/** One entry of a configuration, in the words of any client, becomes the address of a server. */
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { isTable } from './config-document.ts';
import type { Variables } from './expand-variables.ts';
import { expandVariables } from './expand-variables.ts';
import { readTexts } from './quittance-settings.ts';
import type { HttpAddress, ServerAddress, StdioAddress } from './server-entry.ts';
import type { ServerRow } from './server-table.ts';
import type { ServerUrlRules } from './server-url.ts';
import { findServerUrlProblem } from './server-url.ts';
import type { WrapTarget } from './wrap-arguments.ts';
import { readWrapWords } from './wrap-arguments.ts';

export type ServerContext = ServerUrlRules & {
  readonly document: ConfigDocument;
  readonly variables: Variables;
};

/** Keys by which a client signs in with an OAuth app or a program of its own, which the gateway does not know. */
export const signInKeys = ['headersHelper', 'auth', 'oauth', 'oauth_resource'] as const;

const mostEnvFileBytes = 1024 * 1024;

export function readServerAddress(row: ServerRow, context: ServerContext): ServerAddress {
  const { entry, path } = row;
  const { document } = context;
  const [hasCommand, hasUrl] = [entry['command'] !== undefined, urlKey(entry) !== undefined];
  if (hasCommand === hasUrl)
    throw document.problem(
      path,
      hasCommand ? 'has both a command and a url.' : 'has neither a command nor a url.',
      'Give it one of them.',
    );
  const type = readType(row, context, hasCommand);
  if (type === 'stdio') {
    const wrapped = Array.isArray(entry['args']) ? readWrapWords(entry['args']) : undefined;
    const address = readStdio(row, context);
    return wrapped === undefined ? address : unwrap(wrapped.target, address, row, context);
  }
  for (const key of signInKeys)
    if (entry[key] !== undefined)
      throw document.problem(
        [...path, key],
        'is a sign-in that only its client can do.',
        'Remove it and put a token in a header.',
      );
  return readHttp(row, type, context);
}

/** The key that holds the URL. Some clients tell the transports apart by this key. */
const urlKey = (entry: ConfigTable): string | undefined =>
  ['url', 'serverUrl', 'httpUrl'].find((key) => entry[key] !== undefined);

function readType(
  { entry, path }: ServerRow,
  { document }: ServerContext,
  isStdio: boolean,
): ServerAddress['type'] {
  const written = entry['type'] ?? entry['transport'];
  const types: Readonly<Record<string, ServerAddress['type']>> = {
    stdio: 'stdio',
    local: 'stdio',
    http: 'http',
    'streamable-http': 'http',
    streamableHttp: 'http',
    sse: 'sse',
  };
  if (written === undefined) return isStdio ? 'stdio' : 'http';
  const type = typeof written === 'string' && Object.hasOwn(types, written) ? types[written] : undefined;
  if (type === undefined || (type === 'stdio') !== isStdio)
    throw document.problem(
      [...path, 'type'],
      type === undefined ? 'is not a known transport.' : 'does not fit the entry.',
      'Use "stdio" with a command; "http" or "sse" with a url.',
    );
  return type;
}

function readStdio(row: ServerRow, context: ServerContext): StdioAddress {
  const { entry, path } = row;
  const { document, variables } = context;
  const command = readText(entry['command'], [...path, 'command'], context);
  if (command === '') throw document.problem([...path, 'command'], 'is empty.', 'Name a program.');
  const args = readTexts(document, [...path, 'args'], entry['args']).map((arg, index) =>
    readText(arg, [...path, 'args', index], context),
  );
  const env: Record<string, string> = Object.create(null) as Record<string, string>;
  Object.assign(env, readEnvFile(row, context));
  for (const name of variableNames(document, path, entry['env_vars'])) {
    const value = variables.env[name];
    if (value !== undefined) env[name] = value;
  }
  for (const [name, value] of pairsOf(entry['env'], [...path, 'env'], context)) env[name] = value;
  for (const name of Object.keys(env))
    if (!/^[^=\s\0]+$/.test(name) || name === '__proto__')
      throw document.problem([...path, 'env'], 'has a name that no variable can have.', 'Correct the name.');
  const cwd = entry['cwd'] === undefined ? undefined : readText(entry['cwd'], [...path, 'cwd'], context);
  return {
    type: 'stdio',
    command,
    args,
    env,
    ...(cwd !== undefined && { cwd: fromFolder(cwd, variables) }),
  };
}

function readHttp({ entry, path }: ServerRow, type: 'http' | 'sse', context: ServerContext): HttpAddress {
  const { document, variables } = context;
  const key = urlKey(entry) ?? 'url';
  const headers: [string, string][] = [
    ...pairsOf(entry['headers'], [...path, 'headers'], context),
    ...pairsOf(entry['http_headers'], [...path, 'http_headers'], context),
  ];
  const fromVariable = (header: string, name: string, at: ConfigPath, prefix = ''): void => {
    const value = variables.env[name];
    if (value === undefined)
      throw document.problem(at, `needs the environment variable ${name}, which is not set.`, `Set ${name}.`);
    headers.push([header, prefix + value]);
  };
  const place = [...path, 'env_http_headers'];
  for (const [header, name] of pairsOf(entry['env_http_headers'], place, context))
    fromVariable(header, name, [...place, header]);
  const bearer = entry['bearer_token_env_var'];
  if (bearer !== undefined) {
    const at = [...path, 'bearer_token_env_var'];
    fromVariable('Authorization', readText(bearer, at, context), at, 'Bearer ');
  }
  return toHttpAddress(type, readText(entry[key], [...path, key], context), headers, [...path, key], context);
}

function toHttpAddress(
  type: 'http' | 'sse',
  text: string,
  headers: readonly (readonly [string, string])[],
  path: ConfigPath,
  { document, allowHttp = [] }: ServerContext,
): HttpAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url === undefined ? 'is not a URL' : findServerUrlProblem(url, { allowHttp });
  if (url === undefined || problem !== undefined)
    throw document.problem(path, `${problem}.`, 'Write a URL such as https://example.com/mcp.');
  const named: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [header, value] of headers) {
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(header) || !/^[\t\x20-\x7E\x80-\xFF]*$/.test(value))
      throw document.problem(
        path.slice(0, -1),
        'has a header that HTTP does not allow.',
        'Correct the header.',
      );
    named[header] = value;
  }
  return { type, url, headers: named };
}

/** An installed entry means the server behind it. */
function unwrap(
  target: WrapTarget,
  outer: StdioAddress,
  { path }: ServerRow,
  context: ServerContext,
): ServerAddress {
  const { document, variables } = context;
  const read = (name: string): string | undefined => outer.env[name] ?? variables.env[name];
  if (target.type === 'stdio') {
    const expand = (text: string): string => readText(text, [...path, 'args'], context);
    const named = target.env.flatMap((name) => {
      const value = read(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const file = target.envFile === undefined ? {} : readEnvFileAt(expand(target.envFile), path, context);
    return {
      type: 'stdio',
      command: expand(target.command),
      args: target.args.map(expand),
      env: { ...file, ...Object.fromEntries(named) },
      ...(outer.cwd !== undefined && { cwd: outer.cwd }),
    };
  }
  const need = (name: string): string => {
    const value = read(name);
    if (value !== undefined) return value;
    throw document.problem([...path, 'env'], `has no variable ${name}.`, 'Run quittance mcp install again.');
  };
  const headers = target.headers.map(([header, name]) => [header, need(name)] as const);
  if (target.bearerVariable !== undefined)
    headers.push(['Authorization', `Bearer ${need(target.bearerVariable)}`]);
  const url = 'text' in target.url ? target.url.text : need(target.url.variable);
  return toHttpAddress(target.type, url, headers, [...path, 'args'], context);
}

function readEnvFile({ entry, path }: ServerRow, context: ServerContext): Readonly<Record<string, string>> {
  if (entry['envFile'] === undefined) return {};
  return readEnvFileAt(readText(entry['envFile'], [...path, 'envFile'], context), path, context);
}

function readEnvFileAt(
  file: string,
  path: ConfigPath,
  context: ServerContext,
): Readonly<Record<string, string>> {
  const place = fromFolder(file, context.variables);
  const found = statSync(place, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > mostEnvFileBytes)
    throw context.document.problem(
      [...path, 'envFile'],
      'names no file that can be read.',
      'Create the file or correct the path.',
    );
  // The types allow undefined values, which the parser never makes.
  return parseEnv(readFileSync(place, 'utf8')) as Readonly<Record<string, string>>;
}

/** Codex lists variables by name, or by name and origin. */
function variableNames(document: ConfigDocument, path: ConfigPath, value: unknown): readonly string[] {
  if (!Array.isArray(value)) return readTexts(document, [...path, 'env_vars'], value);
  return readTexts(
    document,
    [...path, 'env_vars'],
    value.map((each: unknown) => (isTable(each) ? each['name'] : each)),
  );
}

function pairsOf(value: unknown, path: ConfigPath, context: ServerContext): [string, string][] {
  if (value === undefined || value === null) return [];
  if (!isTable(value)) throw context.document.problem(path, 'is not an object.', 'Write names with texts.');
  return Object.entries(value).map(([name, text]) => [
    name,
    // Clients turn numbers and switches into text; an environment knows only text.
    readText(
      typeof text === 'number' || typeof text === 'boolean' ? String(text) : text,
      [...path, name],
      context,
    ),
  ]);
}

function readText(value: unknown, path: ConfigPath, { document, variables }: ServerContext): string {
  if (typeof value !== 'string') throw document.problem(path, 'is not a text.', 'Write it in quotes.');
  const expanded = expandVariables(value, variables);
  if (!expanded.ok) throw document.problem(path, expanded.found, expanded.remedy);
  if (expanded.text.includes('\0'))
    throw document.problem(path, 'has a NUL character.', 'Remove the character.');
  return expanded.text;
}

const fromFolder = (path: string, { workspaceFolder, home }: Variables): string => {
  const full = path.replace(/^~(?=$|[/\\])/, home);
  return isAbsolute(full) ? full : resolve(workspaceFolder, full);
};
