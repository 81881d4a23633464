import type { BoundTool } from '../../runtime/turn/turn.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isTool } from '../../tool/define-tool.ts';
import type { Driver } from '../run/driver.ts';
import { shownSchema } from './shape.ts';
import type { ClaudeAgentCall, ClaudeAgentTool } from './tool.ts';

/** The tool for the model, with its schema. Only the runtime checks arguments against it. */
export function toServedTool(
  driver: Driver<ClaudeAgentCall>,
  { name, description, schema }: BoundTool,
  given: ClaudeAgentTool | AnyTool | undefined,
): object {
  const own = given === undefined || isTool(given) ? undefined : given;
  const isRead = driver.tools.some((tool) => tool.name === name && tool.mode === 'read');
  return {
    name,
    description,
    inputSchema: shownSchema({ ...schema, type: 'object' }),
    // Calls of declared read tools may run in parallel.
    annotations: { ...(isRead && { readOnlyHint: true }), ...own?.annotations },
    _meta: { 'anthropic/alwaysLoad': true, ...own?._meta },
  };
}
