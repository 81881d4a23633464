import { homedir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { ConfigDocument } from './config-document.ts';
import { isTable, readConfigDocument } from './config-document.ts';
import type { Variables } from './expand-variables.ts';
import { inputVariable } from './expand-variables.ts';
import { findOAuthSecret } from './read-auth.ts';
import type { QuittanceSettings } from './quittance-settings.ts';
import { noSettings, readServerSetting, readQuittanceSettings } from './quittance-settings.ts';
import type { ServerContext } from './read-server.ts';
import { readOfferedTools, readServerAddress } from './read-server.ts';
import type {
  GatewayConfig,
  ServerAddress,
  ServerEntry,
} from '@quittance/server/internal/mcp-reviews/server-entry';
import type { ServerRow } from './server-table.ts';
import { findServers } from './server-table.ts';

export type ReadMcpConfigOptions = {
  /** Values of variables such as `${API_KEY}`; usually `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home of the user. Default: that of the process. */
  readonly home?: string;
  /** Answers to `${input:ID}`; else `QUITTANCE_INPUT_ID` of `env`, else the default in the file. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Folder of the project: its servers in `~/.claude.json` count too. Also what `${workspaceFolder}` means. */
  readonly project?: string;
  /** A file with Quittance's own settings. They win over those in the configuration. */
  readonly settings?: string;
};

/**
 * Reads the servers of an MCP client: `mcpServers` (Claude Desktop, Claude Code, Cursor, Copilot), `servers` of
 * VS Code, or `[mcp_servers]` of Codex. Throws `config.invalid`, with file and line, for what it cannot understand.
 */
export async function readMcpConfig(path: string, options: ReadMcpConfigOptions): Promise<GatewayConfig> {
  const document = await readConfigDocument(path);
  const home = options.home ?? homedir();
  const table = findServers(document, options.project);
  const own = readQuittanceSettings(document, ['quittance'], document.root['quittance']);
  const extra = options.settings === undefined ? noSettings : await readSettingsFile(options.settings);
  const variables: Variables = {
    env: options.env,
    home,
    workspaceFolder: options.project ?? folderOf(path),
    inputs: { ...readInputs(document, table.inputs, options.env), ...options.inputs },
  };
  const servers: ServerEntry[] = [];
  for (const row of table.rows) {
    const inline = readServerSetting(document, [...row.path, 'quittance'], row.entry['quittance']);
    const set = [inline, own.servers.get(row.name), extra.servers.get(row.name)];
    const isDisabled = row.entry['disabled'] === true || row.entry['enabled'] === false;
    const context = { document, variables, allowHttp: [...own.allowHttp, ...extra.allowHttp] };
    const address = isDisabled ? tryReading(row, context) : readServerAddress(row, context);
    const written = set.findLast((each) => each?.oauth !== undefined)?.oauth;
    const oauth =
      written &&
      findOAuthSecret(written, options.env, (found, remedy) =>
        document.problem([...row.path, 'quittance', 'oauth'], found, remedy),
      );
    const onlyFor = set.findLast((each) => each?.onlyFor !== undefined)?.onlyFor;
    if (address !== undefined)
      servers.push({
        name: row.name,
        isTrusted: set.some((each) => each?.trusted === true),
        tools: Object.assign(Object.create(null) as object, ...set.map((each) => each?.tools)),
        isDisabled,
        ...readOfferedTools(row, context),
        ...(onlyFor !== undefined && { onlyFor }),
        ...(oauth !== undefined && { oauth }),
        ...address,
      });
  }
  for (const name of own.servers.keys())
    if (!table.rows.some((row) => row.name === name))
      throw document.problem(
        ['quittance', 'servers', name],
        'names no server of this file.',
        `Servers: ${table.rows.map((row) => row.name).join(', ') || 'none'}.`,
      );
  return {
    servers,
    observe: own.observe || extra.observe,
    askInClient: [...own.askInClient, ...extra.askInClient],
    ...limitsOf(own),
    ...limitsOf(extra),
  };
}

/** The limits of results that the settings state. */
export const limitsOf = ({
  textLimit,
  mediaLimit,
}: QuittanceSettings): Pick<GatewayConfig, 'textLimit' | 'mediaLimit'> => ({
  ...(textLimit !== undefined && { textLimit }),
  ...(mediaLimit !== undefined && { mediaLimit }),
});

/** A file that holds only Quittance's settings. */
export async function readSettingsFile(path: string): Promise<QuittanceSettings> {
  const document = await readConfigDocument(path);
  return readQuittanceSettings(document, [], document.root);
}

/** A disabled server need not be complete: its variables are often not set. */
function tryReading(row: ServerRow, context: ServerContext): ServerAddress | undefined {
  try {
    return readServerAddress(row, context);
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid')) return undefined;
    throw error;
  }
}

/** The folder of the project: configurations of VS Code and Cursor lie in a folder of their own. */
function folderOf(path: string): string {
  const folder = dirname(resolve(path));
  return ['.vscode', '.cursor', '.codex', '.github'].includes(basename(folder)) ? dirname(folder) : folder;
}

function readInputs(
  document: ConfigDocument,
  inputs: unknown,
  env: ReadMcpConfigOptions['env'],
): Readonly<Record<string, string>> {
  if (inputs === undefined) return {};
  if (!Array.isArray(inputs)) throw document.problem(['inputs'], 'is not a list.', 'Write a list of inputs.');
  const found = Object.create(null) as Record<string, string>;
  for (const [index, input] of inputs.entries()) {
    if (!isTable(input) || typeof input['id'] !== 'string')
      throw document.problem(['inputs', index], 'has no id.', 'Give it a text as "id".');
    const { id, default: fallback } = input as { id: string; default?: unknown };
    const value = env[inputVariable(id)] ?? fallback;
    if (typeof value === 'string') found[id] = value;
  }
  return found;
}
