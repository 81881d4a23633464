/** What an outcome says about a repeat of its call. One condition for the twin guard and for what the model is told. */
import { leavesDoubt } from '../../call/doubt.ts';
import type { ToolFailure } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { AnyTool } from '../../tool/define-tool.ts';

/** Does the twin guard look at calls of this tool? */
export const isGuarded = ({ mayRerun, mode, rerun }: AnyTool): boolean =>
  !mayRerun && mode !== 'read' && rerun !== 'allow';

type Ended = {
  readonly code: ReasonCode;
  /** What the reason or the author says. */
  readonly retryable: boolean;
  readonly authorSaysRetry?: boolean | undefined;
};

/** The fields of an outcome. A call whose repeat would be stopped is never called retryable. */
export function repeatOf(
  tool: AnyTool,
  { code, retryable, authorSaysRetry = false }: Ended,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (!isGuarded(tool) || !leavesDoubt({ code, mayRerun: tool.mayRerun, authorSaysRetry }))
    return { retryable };
  return inDoubt(retryable);
}

/** The fields of an outcome that is in doubt. */
export const inDoubt = (retryable: boolean): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> => ({
  retryable: false,
  inDoubt: true,
  ...(retryable && { blocksTool: false }),
});
