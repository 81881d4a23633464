/**
 * The MCP annotations of a tool. The server writes them, not the host. They may raise the risk of a tool. They lower
 * it only if the host trusts the server.
 */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import type { ToolOverrides } from '../../tool/govern.ts';
import { decideToolMode } from '../../tool/mode.ts';
import { ownValue } from '../../tool/own-value.ts';

export type ToolHints = {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
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
  const says = (hint: string): boolean => found.some((annotations) => ownValue(annotations, hint) === true);
  return {
    readOnly: says('readOnlyHint'),
    destructive: says('destructiveHint'),
    idempotent: says('idempotentHint'),
  };
}

function ownObject(holder: object, key: string): JsonObject | undefined {
  const value = ownValue(holder, key);
  return isJsonObject(value) ? value : undefined;
}

/** The effect of hints on a tool without settings of the host. A hint that raises the risk beats one that lowers it. */
export function hintedTraits(name: string, hints: ToolHints | undefined, isTrusted: boolean): ToolOverrides {
  if (hints === undefined) return {};
  // A local tool always needs approval, which is already the most careful treatment.
  if (hints.destructive) return decideToolMode(name) === 'local' ? {} : { mode: 'destructive' };
  if (!isTrusted) return {};
  return { ...(hints.readOnly && { mode: 'read' }), ...(hints.idempotent && { idempotent: true }) };
}
