/**
 * What an outcome says about a repeat of its call. The twin guard and the content for the model share this
 * condition.
 */
import { leavesDoubt } from '../../call/doubt.ts';
import type { ToolFailure } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { AnyTool } from '../../tool/define-tool.ts';

/** Does the twin guard check calls of this tool? */
export const isGuarded = ({ mayRerun, mode, rerun }: AnyTool): boolean =>
  !mayRerun && mode !== 'read' && rerun !== 'allow';

type Ended = {
  readonly code: ReasonCode;
  /** The default of the reason code, or the value that the tool's author chose. */
  readonly retryable: boolean;
  readonly repeatIsSafe?: boolean | undefined;
};

/** Fields of an outcome. A call whose repeat would be stopped is never marked retryable. */
export function repeatOf(
  tool: AnyTool,
  { code, retryable, repeatIsSafe = false }: Ended,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (!isGuarded(tool) || !leavesDoubt({ code, mayRerun: tool.mayRerun, repeatIsSafe })) return { retryable };
  return inDoubt(retryable);
}

/** Fields of an outcome whose effect is unknown. */
export const inDoubt = (retryable: boolean): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> => ({
  retryable: false,
  inDoubt: true,
  ...(retryable && { blocksTool: false }),
});
