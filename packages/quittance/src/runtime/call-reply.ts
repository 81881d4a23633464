/** The reply to a caller: an outcome, or a pending call. */
import type { Call } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';

/** A call that is held, or that another caller is making. `rest` resolves with its outcome. */
export type PendingReply = {
  readonly type: 'held';
  /** Id of the open question, or undefined if there is none. */
  readonly confirmationId: string | undefined;
  /** Why the call needs an approval. */
  readonly waitsFor?: string;
  readonly rest: Promise<ToolOutcome>;
};

/** The answer to a caller: the outcome, or that the call is pending. */
export type CallReply = ToolOutcome | PendingReply;

/** The open question of a call. */
export const openQuestion = (
  call: Pick<Call, 'confirmation'> | undefined,
): { readonly confirmationId: string; readonly waitsFor: string } | undefined =>
  call?.confirmation?.status === 'pending'
    ? { confirmationId: call.confirmation.confirmationId, waitsFor: call.confirmation.description }
    : undefined;
