/** One entry of a configuration, in the words of any client, becomes the address of a server. */
import { isAbsolute, resolve } from 'node:path';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { isTable } from './config-document.ts';
import type { Variables } from './expand-variables.ts';
import { expandVariables } from './expand-variables.ts';
import { readTexts } from './quittance-settings.ts';
import type {
  HttpAddress,
  ServerAddress,
  ServerEntry,
  StdioAddress,
} from '@quittance/server/internal/mcp-reviews/server-entry';
import type { ServerRow } from './server-table.ts';
import type { ServerUrlRules } from './server-url.ts';
import { readWrapWords } from './wrap-arguments.ts';
import type { WrappedServerContext } from './wrapped-server.ts';
import { readEnvFile, readWrappedServer, toHttpAddress } from './wrapped-server.ts';

export type ServerContext = ServerUrlRules & {
  readonly document: ConfigDocument;
  readonly variables: Variables;
};

/** Keys by which a client signs in with an OAuth app or a program of its own, which the gateway does not know. */
export const signInKeys = ['headersHelper', 'auth', 'oauth', 'oauth_resource'] as const;

/** Does the client run this server in a place of its own? Started elsewhere, it would lose its sandbox. */
export const isSandboxed = (entry: ConfigTable): boolean =>
  entry['sandboxEnabled'] === true || entry['experimental_environment'] !== undefined;

/** The tools that the configuration lets a client see: `tools` of Copilot, `enabled_tools` of Codex. */
export function readOfferedTools(
  { entry, path }: ServerRow,
  { document }: ServerContext,
): Pick<ServerEntry, 'onlyTools' | 'hiddenTools'> {
  const { tools, enabled_tools: enabled, disabled_tools: hidden } = entry;
  const read = (key: string, value: unknown): readonly string[] => readTexts(document, [...path, key], value);
  // In other clients, `tools` is an object with settings.
  const listed = Array.isArray(tools) ? read('tools', tools) : undefined;
  const only = enabled === undefined ? listed : read('enabled_tools', enabled);
  return {
    ...(only !== undefined && !only.includes('*') && { onlyTools: only }),
    ...(hidden !== undefined && { hiddenTools: read('disabled_tools', hidden) }),
  };
}

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
  if (isSandboxed(entry))
    throw document.problem(
      path,
      'runs in a sandbox of its client, which the gateway does not know.',
      'Remove the server from this configuration, or its sandbox.',
    );
  const type = readType(row, context, hasCommand);
  if (type === 'stdio') {
    const wrapped = Array.isArray(entry['args']) ? readWrapWords(entry['args']) : undefined;
    const address = readStdio(row, context);
    if (wrapped === undefined) return address;
    // An installed entry means the server behind it.
    const outer = wrappedContext([...path, 'args'], context);
    const inner = readWrappedServer(wrapped.target, {
      ...outer,
      variable: (name) => address.env[name] ?? outer.variable(name),
    });
    const isStdio = inner.type === 'stdio' && address.cwd !== undefined;
    return isStdio ? { ...inner, cwd: address.cwd } : inner;
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
export const urlKey = (entry: ConfigTable): string | undefined =>
  ['url', 'serverUrl', 'httpUrl'].find((key) => entry[key] !== undefined);

const transports: Readonly<Record<string, ServerAddress['type']>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sse: 'sse',
};

/** The transport that the entry names; undefined for an unknown one. */
export function transportOf(entry: ConfigTable, isStdio: boolean): ServerAddress['type'] | undefined {
  const written = entry['type'] ?? entry['transport'];
  if (written === undefined) return isStdio ? 'stdio' : 'http';
  return typeof written === 'string' && Object.hasOwn(transports, written) ? transports[written] : undefined;
}

function readType(
  { entry, path }: ServerRow,
  { document }: ServerContext,
  isStdio: boolean,
): ServerAddress['type'] {
  const type = transportOf(entry, isStdio);
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
  if (entry['envFile'] !== undefined) {
    const place = [...path, 'envFile'];
    Object.assign(
      env,
      readEnvFile(readText(entry['envFile'], place, context), wrappedContext(place, context)),
    );
  }
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
  const at = [...path, key];
  return toHttpAddress(type, readText(entry[key], at, context), headers, wrappedContext(at, context));
}

const wrappedContext = (path: ConfigPath, context: ServerContext): WrappedServerContext => ({
  variable: (name) => context.variables.env[name],
  expand: (text) => readText(text, path, context),
  resolve: (file) => fromFolder(file, context.variables),
  allowHttp: context.allowHttp ?? [],
  problem: (found, remedy) => context.document.problem(path, found, remedy),
});

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
