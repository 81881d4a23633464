/**
 * Quittance's own part of a configuration: the key `quittance` of the file or of a server, or a file of its own.
 * Unknown keys are refused, because a misspelt one would silently have no effect.
 */
import { describeUnknownName } from 'quittance/internal/base/nearest';
import { isToolMode, toolModeTreatments } from 'quittance/internal/tool/mode';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { isTable } from './config-document.ts';
import type { WrittenOAuth } from './read-auth.ts';
import { oauthKeys, readOAuth } from './read-auth.ts';
import type { ToolSetting } from '@quittance/server/internal/mcp-reviews/server-entry';

export type QuittanceSettings = {
  readonly observe: boolean;
  /** Hosts that may be reached over plain http. */
  readonly allowHttp: readonly string[];
  /** Rules of contracts whose questions the person at the client may answer. */
  readonly askInClient: readonly string[];
  /** Limits of results: see `GatewayConfig`. */
  readonly textLimit?: number;
  readonly mediaLimit?: number;
  readonly servers: ReadonlyMap<string, ServerSetting>;
};

export type ServerSetting = {
  readonly trusted: boolean;
  readonly onlyFor: readonly string[] | undefined;
  readonly oauth: WrittenOAuth | undefined;
  readonly tools: Readonly<Record<string, ToolSetting>>;
};

export const noSettings: QuittanceSettings = {
  observe: false,
  allowHttp: [],
  askInClient: [],
  servers: new Map(),
};

const keys = {
  file: ['observe', 'allowHttp', 'askInClient', 'textLimit', 'mediaLimit', 'servers'],
  server: ['trusted', 'onlyFor', 'oauth', 'tools'],
  tool: ['mode', 'idempotencyKey', 'ask', 'onlyFor'],
} as const;

export function readQuittanceSettings(
  document: ConfigDocument,
  path: ConfigPath,
  value: unknown,
): QuittanceSettings {
  const table = readTable(document, path, value, keys.file);
  const servers = new Map<string, ServerSetting>();
  for (const [name, setting] of entriesOf(document, [...path, 'servers'], table['servers']))
    servers.set(name, readServerSetting(document, [...path, 'servers', name], setting));
  return {
    observe: readBoolean(document, [...path, 'observe'], table['observe']),
    allowHttp: readTexts(document, [...path, 'allowHttp'], table['allowHttp']),
    askInClient: readTexts(document, [...path, 'askInClient'], table['askInClient']),
    ...readLimit(document, path, table, 'textLimit'),
    ...readLimit(document, path, table, 'mediaLimit'),
    servers,
  };
}

export function readServerSetting(document: ConfigDocument, path: ConfigPath, value: unknown): ServerSetting {
  const table = readTable(document, path, value, keys.server);
  const tools = Object.create(null) as Record<string, ToolSetting>;
  for (const [name, setting] of entriesOf(document, [...path, 'tools'], table['tools']))
    tools[name] = readTool(document, [...path, 'tools', name], setting);
  return {
    trusted: readBoolean(document, [...path, 'trusted'], table['trusted']),
    onlyFor: readCallers(document, [...path, 'onlyFor'], table['onlyFor']),
    oauth:
      table['oauth'] === undefined
        ? undefined
        : readOAuth(
            document,
            [...path, 'oauth'],
            readTable(document, [...path, 'oauth'], table['oauth'], oauthKeys),
          ),
    tools,
  };
}

function readTool(document: ConfigDocument, path: ConfigPath, value: unknown): ToolSetting {
  const { mode, idempotencyKey, ask, onlyFor: written } = readTable(document, path, value, keys.tool);
  const onlyFor = readCallers(document, [...path, 'onlyFor'], written);
  if (mode !== undefined && !isToolMode(mode))
    throw document.problem(
      [...path, 'mode'],
      'is not a mode.',
      `Use one of ${Object.keys(toolModeTreatments).join(', ')}.`,
    );
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || idempotencyKey === ''))
    throw document.problem([...path, 'idempotencyKey'], 'is not a text.', 'Name one argument of the tool.');
  if (ask !== undefined && ask !== 'in_client')
    throw document.problem([...path, 'ask'], 'is not "in_client".', 'Write "in_client" or remove the key.');
  return {
    ...(mode !== undefined && { mode }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(ask !== undefined && { ask }),
    ...(onlyFor !== undefined && { onlyFor }),
  };
}

/** A misspelt caller would be refused silently, or let in everybody of that name. */
function readCallers(
  document: ConfigDocument,
  path: ConfigPath,
  value: unknown,
): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const callers = readTexts(document, path, value);
  if (!callers.every((caller) => /^(?:user|group):./.test(caller)))
    throw document.problem(path, 'has an entry that names no caller.', 'Write "user:ID" or "group:NAME".');
  return callers;
}

function readTable(
  document: ConfigDocument,
  path: ConfigPath,
  value: unknown,
  known: readonly string[],
): ConfigTable {
  const table = value ?? {};
  if (!isTable(table)) throw document.problem(path, 'is not an object.', `Known keys: ${known.join(', ')}.`);
  for (const key of Object.keys(table))
    if (!known.includes(key))
      throw document.problem(path, 'has an unknown key.', describeUnknownName('key', key, known));
  return table;
}

function entriesOf(document: ConfigDocument, path: ConfigPath, value: unknown): [string, unknown][] {
  if (value === undefined) return [];
  if (!isTable(value))
    throw document.problem(path, 'is not an object.', 'Write an object with one key each.');
  return Object.entries(value);
}

function readBoolean(document: ConfigDocument, path: ConfigPath, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw document.problem(path, 'is not true or false.', 'Write true or false without quotes.');
}

function readLimit<Key extends 'textLimit' | 'mediaLimit'>(
  document: ConfigDocument,
  path: ConfigPath,
  table: ConfigTable,
  key: Key,
): { readonly [Each in Key]?: number } {
  const value = table[key];
  if (value === undefined) return {};
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1_000)
    return { [key]: value } as { [Each in Key]: number }; // TypeScript widens computed keys
  throw document.problem([...path, key], 'is not a limit.', 'Write a whole number of at least 1000.');
}

export function readTexts(document: ConfigDocument, path: ConfigPath, value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value;
  throw document.problem(path, 'is not a list of texts.', 'Write a list such as ["one", "two"].');
}
