/**
 * The history of tool schemas: each server start notes them in a small file next to the ledger, or in its database. It
 * is for people only. No decision depends on it, and without a place to write it ends with the process.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { digestJson } from 'quittance/internal/base/canonical';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { formatPath, isJsonObject, readJsonText } from 'quittance/internal/base/json';
import type { Documents, StoredDocument } from 'quittance/internal/ledger/ledger';
import { diffJson } from 'quittance/internal/replay/diff-json';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { SchemaVersion } from './api/tool.ts';

type Seen = { readonly digest: string; readonly firstSeenAt: number; readonly schema: JsonObject };

const documentName = 'schemas';
const mostVersions = 20;
const mostChanges = 200;

/** Where the history is stored: a file next to the ledger, the database of the ledger, or nowhere. */
export type SchemaHistoryPlace = {
  readonly path?: string | undefined;
  readonly documents?: Documents | undefined;
};

/** Reads the history, adds the schemas of these tools, and stores it. */
export async function openSchemaHistory(
  { path, documents }: SchemaHistoryPlace,
  tools: readonly AnyTool[],
  now: number,
): Promise<SchemaHistory> {
  const stored = await readStored(documents);
  const history = new SchemaHistory(
    path === undefined ? parseHistory(() => stored.text ?? '{}') : readHistory(path),
  );
  if (!history.add(tools, now)) return history;
  if (path !== undefined) writeHistory(path, history.toText());
  // Another process may have stored its schemas first. They are those of the same program, or the next start adds ours.
  else
    await Promise.resolve(documents?.replace(documentName, stored.version, history.toText())).catch(
      () => undefined,
    );
  return history;
}

export class SchemaHistory {
  readonly #seen: Map<string, readonly Seen[]>;

  constructor(seen: ReadonlyMap<string, readonly Seen[]> = new Map()) {
    this.#seen = new Map(seen);
  }

  /** Notes the schemas of these tools. False if all of them are known. */
  add(tools: readonly AnyTool[], now: number): boolean {
    let isNew = false;
    for (const { name, input } of tools) {
      const schema = input.jsonSchema;
      if (schema === undefined) continue;
      const digest = digestJson(schema);
      const known = this.#seen.get(name) ?? [];
      if (known.at(-1)?.digest === digest) continue;
      this.#seen.set(name, [...known, { digest, firstSeenAt: now, schema }].slice(-mostVersions));
      isNew = true;
    }
    return isNew;
  }

  toText(): string {
    return `${JSON.stringify({ version: 1, tools: Object.fromEntries(this.#seen) })}\n`;
  }

  digestOf(toolName: string): string | undefined {
    return this.#seen.get(toolName)?.at(-1)?.digest;
  }

  hasDrifted(toolName: string): boolean {
    return (this.#seen.get(toolName)?.length ?? 0) > 1;
  }

  /** Newest first. */
  versionsOf(toolName: string): readonly SchemaVersion[] {
    const seen = this.#seen.get(toolName) ?? [];
    return seen
      .map((version, index) => ({
        ...version,
        changes: index === 0 ? [] : changesBetween(seen[index - 1]?.schema, version.schema),
      }))
      .toReversed();
  }
}

const changesBetween = (before: JsonObject | undefined, after: JsonObject): SchemaVersion['changes'] =>
  diffJson(before, after)
    .slice(0, mostChanges)
    .map(({ path, a, b }) => ({
      path: formatPath(path),
      how: a === undefined ? 'added' : b === undefined ? 'removed' : 'changed',
    }));

const readHistory = (path: string): ReadonlyMap<string, readonly Seen[]> =>
  parseHistory(() => readFileSync(path, 'utf8'));

async function readStored(documents: Documents | undefined): Promise<StoredDocument> {
  const none: StoredDocument = { version: 0, text: undefined };
  return Promise.resolve(documents?.read(documentName) ?? none).catch(() => none);
}

/** If the text cannot be read, the history starts again. */
function parseHistory(text: () => string): ReadonlyMap<string, readonly Seen[]> {
  const found = new Map<string, readonly Seen[]>();
  let value: JsonValue;
  try {
    value = readJsonText(text());
  } catch {
    return found;
  }
  const tools = isJsonObject(value) ? value['tools'] : undefined;
  if (!isJsonObject(tools)) return found;
  for (const [name, versions] of Object.entries(tools))
    if (Array.isArray(versions)) found.set(name, (versions as readonly JsonValue[]).flatMap(readSeen));
  return found;
}

function readSeen(value: JsonValue): readonly Seen[] {
  if (!isJsonObject(value)) return [];
  const { digest, firstSeenAt, schema } = value;
  return typeof digest === 'string' && typeof firstSeenAt === 'number' && isJsonObject(schema)
    ? [{ digest, firstSeenAt, schema }]
    : [];
}

function writeHistory(path: string, text: string): void {
  try {
    writeFileSync(`${path}.part`, text, { mode: 0o600 });
    renameSync(`${path}.part`, path);
  } catch {
    // The folder is not writable: the history lasts as long as the process.
  }
}
