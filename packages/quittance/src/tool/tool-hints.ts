/**
 * The MCP annotations of a tool. The server writes them, not the host. They may raise the risk of a tool. They lower
 * it only if the host trusts the server.
 */
import { isJsonObject, ownValue } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import type { ToolOverrides } from './govern.ts';
import type { ToolMode } from './mode.ts';
import { classifyTool } from './mode.ts';

export type ToolHints = {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** `readOnlyHint` is false: the server says that the tool changes something. */
  readonly writes?: true;
  /** `destructiveHint` is false: the server says that the tool only adds. */
  readonly additive?: true;
};

/** Frameworks store them in different places. Undefined if there are none. */
export function readHints(tool: unknown): ToolHints | undefined {
  if (typeof tool !== 'object' || tool === null) return undefined;
  const holders = [tool, ...['mcp', 'metadata', '_meta', 'mcpMetadata'].map((key) => ownObject(tool, key))];
  const found = holders.flatMap((holder) => {
    const annotations = holder === undefined ? undefined : ownObject(holder, 'annotations');
    return annotations === undefined ? [] : [annotations];
  });
  if (found.length === 0) return undefined;
  const says = (hint: string, answer = true): boolean =>
    found.some((annotations) => ownValue(annotations, hint) === answer);
  return {
    readOnly: says('readOnlyHint'),
    destructive: says('destructiveHint'),
    idempotent: says('idempotentHint'),
    ...(says('readOnlyHint', false) && { writes: true as const }),
    ...(says('destructiveHint', false) && { additive: true as const }),
  };
}

function ownObject(holder: object, key: string): JsonObject | undefined {
  const value = ownValue(holder, key);
  return isJsonObject(value) ? value : undefined;
}

/** The effect of hints on a tool without settings of the host. A hint that raises the risk beats one that lowers it. */
export function hintedTraits(name: string, hints: ToolHints | undefined, isTrusted: boolean): ToolOverrides {
  if (hints === undefined) return {};
  const mode = hintedMode(name, hints, isTrusted);
  return {
    ...(mode !== undefined && { mode }),
    ...(isTrusted && hints.idempotent && !hints.destructive && { idempotent: true }),
  };
}

function hintedMode(name: string, hints: ToolHints, isTrusted: boolean): ToolMode | undefined {
  const named = classifyTool(name);
  // A local tool always needs approval, which is already the most careful treatment.
  if (hints.destructive) return named.mode === 'local' ? undefined : 'destructive';
  // The annotations contradict the name or each other, so it is unknown what the tool changes.
  if (hints.writes === true && (named.mode === 'read' || hints.readOnly))
    return isTrusted && hints.additive === true && !hints.readOnly ? 'safe_write' : 'external';
  if (!isTrusted) return undefined;
  if (hints.readOnly) return 'read';
  const isLowered = named.mode === 'destructive' || named.origin === 'default';
  return hints.additive === true && isLowered ? 'safe_write' : undefined;
}
