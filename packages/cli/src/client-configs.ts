/** The configuration files that `mcp install`, `mcp uninstall` and `mcp review` are about. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve, posix, win32 } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigDocument, ConfigTable } from '@quittance/mcp/internal/config/config-document';
import { readConfigDocument } from '@quittance/mcp/internal/config/config-document';
import type { Rewrite } from '@quittance/mcp/internal/config/rewrite-config';
import { hasServers } from '@quittance/mcp/internal/config/server-table';
import { readWrapWords } from '@quittance/mcp/internal/config/wrap-arguments';
import type { Context, Effect, Given, Options } from './command.ts';
import { reads } from './command.ts';
import { findLedger } from './find-ledger.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { safeJson, terminalText } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

export const mcpClients = ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'codex', 'copilot'] as const;
export type McpClient = (typeof mcpClients)[number];

export type ClientSystem = {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Folder of the project, whose own configuration counts too. */
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** The files that a client may read, those of the user first. Any of them may be missing. */
export function clientPaths(
  client: McpClient,
  { platform, home, project, env }: ClientSystem,
): readonly string[] {
  const path = platform === 'win32' ? win32 : posix;
  const roaming = env['APPDATA'] || path.join(home, 'AppData', 'Roaming');
  const settings =
    platform === 'win32'
      ? roaming
      : platform === 'darwin'
        ? path.join(home, 'Library', 'Application Support')
        : env['XDG_CONFIG_HOME'] || path.join(home, '.config');
  const own = (variable: string, folder: string): string => env[variable] || path.join(home, folder);
  switch (client) {
    case 'claude-desktop':
      return [path.join(settings, 'Claude', 'claude_desktop_config.json')];
    case 'claude-code':
      return [path.join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'), path.join(project, '.mcp.json')];
    case 'cursor':
      return [path.join(home, '.cursor', 'mcp.json'), path.join(project, '.cursor', 'mcp.json')];
    case 'vscode':
      return [path.join(settings, 'Code', 'User', 'mcp.json'), path.join(project, '.vscode', 'mcp.json')];
    case 'codex':
      return [
        path.join(own('CODEX_HOME', '.codex'), 'config.toml'),
        path.join(project, '.codex', 'config.toml'),
      ];
    case 'copilot':
      return [
        path.join(own('COPILOT_HOME', '.copilot'), 'mcp-config.json'),
        path.join(project, '.github', 'mcp.json'),
      ];
  }
}

export const configOptions: Options = {
  client: { value: 'CLIENT', help: 'Client whose configuration to change', choices: mcpClients },
  config: { value: 'FILE', help: 'Configuration to change', file: true, multiple: true },
};

export const homeOf = ({ env }: Context): string => env['HOME'] || env['USERPROFILE'] || homedir();

/** Folder with the records of installations and copies of configurations. */
export const installFolder = (context: Context): string => join(homeOf(context), '.quittance', 'mcp');

const systemOf = (context: Context): ClientSystem => ({
  platform: process.platform,
  home: homeOf(context),
  project: process.cwd(),
  env: context.env,
});

/** The configuration files of every client. A call that changed one could take the gateway out of the way. */
export const allClientPaths = (context: Context): readonly string[] =>
  mcpClients.flatMap((client) => clientPaths(client, systemOf(context)));

/** Files with servers, by `--client` or `--config`. */
export async function readClientConfigs(
  command: string,
  given: Given,
  context: Context,
): Promise<readonly ConfigDocument[]> {
  const client = given.text('client') as McpClient | undefined; // the option accepts only clients
  const named = given.list('config');
  if ((client === undefined) === (named.length === 0))
    throw new UsageError('Name a client or a configuration file: --client or --config.', [
      `quittance ${command} --client claude-desktop`,
      `quittance ${command} --config .mcp.json`,
    ]);
  if (client === undefined) return Promise.all(named.map((file) => readConfigDocument(resolve(file))));
  const paths = clientPaths(client, systemOf(context));
  const documents = await Promise.all(paths.filter((path) => existsSync(path)).map(readConfigDocument));
  const found = documents.filter(hasServers);
  if (found.length > 0) return found;
  throw new UsageError(`${client} has no servers. Looked in ${paths.join(' and ')}.`, [
    `quittance ${command} --config path/to/config`,
  ]);
}

export type ConfigRewrite = { readonly document: ConfigDocument; readonly rewrite: Rewrite };

export type ApplyOptions = {
  /** The question. */
  readonly verb: string;
  readonly given: Given;
  readonly context: Context;
  /** Makes the change and returns the path of the copy. */
  readonly write: (document: ConfigDocument, rewrite: Rewrite, context: Context) => string;
  /** The change takes checks away. The person types this word. */
  readonly word?: string;
  /** Called before the change. */
  readonly confirmed?: (changed: Rewrite['changed']) => Promise<void>;
};

/** Shows the changes, asks, and makes them. */
export async function applyRewrites(
  rewrites: readonly ConfigRewrite[],
  { verb, given, context, write, word, confirmed }: ApplyOptions,
): Promise<ExitCode> {
  const { out, err, ask } = context;
  const isJson = given.has('json');
  if (!isJson)
    for (const { document, rewrite } of rewrites)
      for (const row of rewriteLines(document.file, rewrite, out)) await out.print(row);
  const todo = rewrites.filter(({ rewrite }) => rewrite.changed.length > 0);
  const mayWrite =
    todo.length > 0 &&
    (word === undefined
      ? given.has('yes') || (await ask?.(`${verb}?`)) === true
      : (await context.proof?.confirm({ question: `${verb}?`, word, always: !given.has('yes') })) !==
        undefined);
  if (mayWrite) await confirmed?.(todo.flatMap(({ rewrite }) => rewrite.changed));
  for (const { document, rewrite } of rewrites) {
    const isChanged = mayWrite && rewrite.changed.length > 0;
    const copy = isChanged ? write(document, rewrite, context) : undefined;
    if (isJson)
      await out.print(
        safeJson({
          file: document.file,
          changed: isChanged ? rewrite.changed.map(({ name }) => name) : [],
          left: rewrite.left,
          ...(copy !== undefined && { copy }),
        }),
      );
    else if (copy !== undefined)
      await err.say(`Changed ${terminalText(document.file)}. A copy is in ${terminalText(copy)}.`);
  }
  if (todo.length === 0) return exitCodes.good;
  if (mayWrite) {
    await err.say('Start the client again.');
    return exitCodes.good;
  }
  await err.say(ask === undefined ? 'Nothing was changed. To change it, add --yes.' : 'Nothing was changed.');
  return exitCodes.bad;
}

/**
 * The effect of a change that takes checks away: it needs the proof of an admin of every ledger that the entries name.
 * Without `--yes` and without a terminal, the command only shows the change.
 */
export function rewriteEffect(
  rewrites: readonly ConfigRewrite[],
  { line, side }: { readonly line: string; readonly side: 'from' | 'to' },
  given: Given,
  context: Context,
): Effect {
  const changed = rewrites.flatMap(({ rewrite }) => rewrite.changed);
  if (changed.length === 0 || (!given.has('yes') && context.person === undefined)) return reads;
  const ledgers = new Set(
    changed.map((entry) => {
      const { args } = entry[side];
      const named = Array.isArray(args) ? readWrapWords(args)?.ledger : undefined;
      return named === undefined ? context.ledgerUrl(given, 'make') : findLedger(named, undefined, true);
    }),
  );
  return { kind: 'decides', role: 'admin', byDefault: context.userName, line, ledgerUrls: [...ledgers] };
}

/** What would change, entry by entry. Values of variables and headers are hidden. */
function* rewriteLines(file: string, { changed, left }: Rewrite, out: Terminal): Generator<string, void> {
  yield out.paint('bold', terminalText(file));
  for (const { name, from, to, note } of changed) {
    yield `  ${terminalText(name)}${note === undefined ? '' : out.paint('dim', `  (${note})`)}`;
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const [before, after] = [showValue(key, from), showValue(key, to)];
      if (isDeepStrictEqual(from[key], to[key])) continue;
      if (before !== undefined) yield out.paint('red', `  - ${before}`);
      if (after !== undefined) yield out.paint('green', `  + ${after}`);
    }
  }
  for (const { name, reason } of left)
    yield out.paint('yellow', `  ${terminalText(name)} is left alone and NOT governed: ${reason}.`);
  if (changed.length === 0 && left.length === 0) yield '  Nothing to change.';
}

function showValue(key: string, entry: ConfigTable): string | undefined {
  const value = entry[key];
  if (value === undefined) return undefined;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return `${terminalText(key)}: ${Object.keys(value)
      .map((name) => `${terminalText(name)}=•••`)
      .join(', ')}`;
  const shown =
    key === 'url' && typeof value === 'string'
      ? value.replace(/\?.*$/s, '?•••').replace(/\/\/.*@/s, '//•••@')
      : value;
  return `${terminalText(key)}: ${terminalText(Array.isArray(shown) ? shown.map(wordOf).join(' ') : wordOf(shown))}`;
}

const wordOf = (value: unknown): string =>
  typeof value === 'string' && /^[\w@%+=:,./\\$~-]+$/.test(value) ? value : safeJson(value);

/** The file with the sign-ins at MCP servers. */
export const signInFile = (context: Context): string => join(installFolder(context), 'tokens.json');
