import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import { classifyTool } from '../../tool/mode.ts';
import type { CallInHand } from './call-in-hand.ts';

/** The mode a call is recorded with: that of its tool, or by its name where no such tool is known. */
export const modeOf = ({
  tool,
  request,
}: CallInHand): { readonly mode: ToolMode; readonly modeOrigin: ToolModeOrigin } => {
  if (tool !== undefined) return { mode: tool.mode, modeOrigin: tool.modeOrigin };
  const { mode, origin } = classifyTool(request.name);
  return { mode, modeOrigin: origin };
};
