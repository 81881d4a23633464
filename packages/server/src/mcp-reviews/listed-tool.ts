import { digestJson } from 'quittance/internal/base/canonical';
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject, toJson, ownValue } from 'quittance/internal/base/json';
import { describeValue } from 'quittance/internal/tool/describe-value';
import type { ToolMode } from 'quittance/internal/tool/mode';
import { classifyTool } from 'quittance/internal/tool/mode';
import { hintedTraits, readHints } from 'quittance/internal/tool/tool-hints';

/** A tool as a server lists it. Everything but the name may be missing or wrong: the server wrote it. */
export type ListedTool = {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
  readonly execution?: unknown;
};

/** A proposal for the mode of a listed tool, and its origin. `default` means that nothing is known about the tool. */
export type ListedClass = {
  readonly mode: ToolMode;
  readonly origin: 'annotated' | 'inferred' | 'default';
  readonly idempotent: boolean;
};

/** Reads one entry of `tools/list`. Throws `config.invalid` unless it is an object with a name. */
export function readListedTool(tool: unknown): ListedTool {
  const name = isJsonObject(tool) ? ownValue(tool, 'name') : undefined;
  if (isJsonObject(tool) && typeof name === 'string') return { ...tool, name };
  throw new QuittanceError(
    'config.invalid',
    `The server lists ${describeValue(tool)}, which is not a tool with a name.`,
  );
}

/** Name words and annotations. Annotations raise the risk; they lower it only for a trusted server. */
export function classifyListed(
  listed: ListedTool,
  { isTrusted }: { readonly isTrusted: boolean },
): ListedClass {
  const { mode, idempotent = false } = hintedTraits(listed.name, readHints(listed), isTrusted);
  if (mode !== undefined) return { mode, origin: 'annotated', idempotent };
  const named = classifyTool(listed.name);
  return { mode: named.mode, origin: named.origin === 'default' ? 'default' : 'inferred', idempotent };
}

export const proposeMode = (listed: ListedTool, trust: { readonly isTrusted: boolean }): ToolMode =>
  classifyListed(listed, trust).mode;

const reviewed = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/**
 * Changes with everything of a tool that the model or the gate reads: schemas, description, title, annotations. The
 * order of keys does not count. A part that is not JSON counts as its own kind of change.
 */
export function toolDigest(listed: ListedTool): string {
  const parts: Record<string, JsonObject> = {};
  for (const key of reviewed) {
    const value = ownValue(listed, key);
    if (value === undefined) continue;
    const json = toJson(value);
    parts[key] = json.ok ? { value: json.value } : { problem: json.problem };
  }
  return digestJson({ name: listed.name, ...parts });
}

/**
 * The tool without what no person reviews, such as icons and members that the protocol does not name. `_meta` stays,
 * because MCP Apps name the page of a tool in it. The page itself is a resource, and resources are reviewed.
 */
export function withoutUnreviewed(listed: ListedTool): ListedTool {
  const shown: ReadonlySet<string> = new Set(['name', ...reviewed, 'execution', '_meta']);
  return {
    ...Object.fromEntries(Object.entries(listed).filter(([key]) => shown.has(key))),
    name: listed.name,
  };
}

/** The JSON Schema of the arguments. Some servers omit `type`, or list no schema at all. */
export const inputSchemaOf = ({ inputSchema }: ListedTool): JsonObject =>
  isJsonObject(inputSchema) ? { type: 'object', ...inputSchema } : { type: 'object' };
