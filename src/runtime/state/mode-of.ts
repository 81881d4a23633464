import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import { classifyTool } from '../../tool/mode.ts';
import type { AcceptedCall } from './accepted-call.ts';

/** The mode a call is recorded with: that of its tool, or by its name where no such tool is known. */
export const modeOf = ({
  tool,
  request,
}: Pick<AcceptedCall, 'tool' | 'request'>): {
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
} => {
  if (tool !== undefined) return { mode: tool.mode, modeOrigin: tool.modeOrigin };
  const { mode, origin } = classifyTool(request.name);
  return { mode, modeOrigin: origin };
};
