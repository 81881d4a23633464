import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

/** A call that waits for a person, or that somebody else is making. `rest` is its way to the outcome. */
export type PendingReply = {
  readonly type: 'held';
  /** What the person is asked; undefined where nobody is. */
  readonly confirmationId: string | undefined;
  /** Why a person is asked. */
  readonly waitsFor?: string;
  readonly rest: Promise<ToolOutcome>;
};

/** What a caller hears of a call: how it ended, or that it has not. */
export type CallReply = ToolOutcome | PendingReply;

/** The question that is open about a call. */
export const openQuestion = (
  call: Pick<Call, 'confirmation'> | undefined,
): { readonly confirmationId: string; readonly waitsFor: string } | undefined =>
  call?.confirmation?.status === 'pending'
    ? { confirmationId: call.confirmation.confirmationId, waitsFor: call.confirmation.description }
    : undefined;
