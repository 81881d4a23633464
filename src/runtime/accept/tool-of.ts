import type { AnyTool } from '../../tool/define-tool.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';

/** The tool of a call, required from here on. */
export function toolOf({ tool, callId }: Pick<AcceptedCall, 'tool' | 'callId'>): AnyTool {
  if (tool === undefined) throw new TypeError(`Call ${callId} names no known tool.`);
  return tool;
}
