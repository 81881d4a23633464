import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import { classifyTool } from '../../tool/mode.ts';
import type { AcceptedCall } from './accepted-call.ts';

/** The recorded mode of a call: that of its tool, or guessed from its name if the tool is unknown. */
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
