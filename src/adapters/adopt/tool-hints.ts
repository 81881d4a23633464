/**
 * The MCP annotations of a tool that a framework hands over. They are the words of the server, not of the host: they
 * may raise the risk of a tool, and lower it only where the host trusts the server.
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

/** Frameworks keep them in different places. Undefined where there are none. */
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

/** What the hints make of a tool that the host says nothing about. A hint that raises the risk beats one that lowers it. */
export function hintedTraits(name: string, hints: ToolHints | undefined, isTrusted: boolean): ToolOverrides {
  if (hints === undefined) return {};
  // Tools of the user's machine ask in any case, which is as careful as can be.
  if (hints.destructive) return decideToolMode(name) === 'local' ? {} : { mode: 'destructive' };
  if (!isTrusted) return {};
  return { ...(hints.readOnly && { mode: 'read' }), ...(hints.idempotent && { idempotent: true }) };
}
