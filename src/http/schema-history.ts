/**
 * The history of tool schemas: each server start notes them in a small file next to the ledger. It is for people only.
 * No decision depends on it, and without a writable file it ends with the process.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { digestJson } from '../base/canonical.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, readJsonText } from '../base/json.ts';
import { diffJson } from '../replay/diff-json.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SchemaVersion } from './api/tool.ts';

type Seen = { readonly digest: string; readonly firstSeenAt: number; readonly schema: JsonObject };

const mostVersions = 20;
const mostChanges = 200;

export class SchemaHistory {
  readonly #seen: Map<string, readonly Seen[]>;

  constructor(path: string | undefined, tools: readonly AnyTool[], now: number) {
    this.#seen = path === undefined ? new Map() : readHistory(path);
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
    if (isNew && path !== undefined) writeHistory(path, this.#seen);
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

/** If the file cannot be read, the history starts again. */
function readHistory(path: string): Map<string, readonly Seen[]> {
  const found = new Map<string, readonly Seen[]>();
  let value: JsonValue;
  try {
    value = readJsonText(readFileSync(path, 'utf8'));
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

function writeHistory(path: string, seen: ReadonlyMap<string, readonly Seen[]>): void {
  try {
    writeFileSync(`${path}.part`, `${JSON.stringify({ version: 1, tools: Object.fromEntries(seen) })}\n`, {
      mode: 0o600,
    });
    renameSync(`${path}.part`, path);
  } catch {
    // The folder is not writable: the history lasts as long as the process.
  }
}
