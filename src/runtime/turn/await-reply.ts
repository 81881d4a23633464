import { QuittanceError } from '../../base/error.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { ActiveCall } from '../state/active-call.ts';
import type { CallOptions } from '../host/call-options.ts';
import { stayAwake } from '../state/stay-awake.ts';
import type { PendingReply, CallReply } from '../state/call-reply.ts';
import { openQuestion } from '../state/call-reply.ts';
import type { TurnState } from '../state/turn-state.ts';

/** Returned instead of an outcome: the call waits for a person, or another caller is still making it. */
export type PendingCall = {
  readonly type: 'pending';
  readonly callId: string;
  /** Id of the open question, or undefined if the call has none. */
  readonly confirmationId: string | undefined;
  /** Why the call needs an approval, in words that the model may see. Absent without a question. */
  readonly waitsFor?: string;
};

export const toPending = (
  callId: string,
  asked: { readonly confirmationId: string | undefined; readonly waitsFor?: string } | undefined,
): PendingCall => ({
  type: 'pending',
  callId,
  confirmationId: asked?.confirmationId,
  ...(asked?.waitsFor !== undefined && { waitsFor: asked.waitsFor }),
});

/**
 * Returns the outcome. Returns a pending call at the turn's deadline, or when the caller stops waiting for a
 * call that another caller makes. Neither case ends the call or its hold.
 */
export function awaitReply(
  active: ActiveCall,
  turn: TurnState,
  options: CallOptions = active.live.options,
): Promise<ToolOutcome | PendingCall> {
  const reply = untilReply(active, turn);
  return options.signal === undefined ? reply : unlessGivenUp(active, options, reply);
}

/**
 * The signal of the caller that makes the call cancels it, and the outcome says so. The signal of a caller
 * that joined, here or from another process, only ends that caller's wait.
 */
export async function unlessGivenUp(
  active: ActiveCall,
  { signal }: CallOptions,
  waiting: Promise<ToolOutcome | PendingCall>,
): Promise<ToolOutcome | PendingCall> {
  if (signal === undefined) return waiting;
  const given = Promise.withResolvers<PendingCall>();
  const giveUp = async (): Promise<void> => {
    const { options, callId, journal } = active.live;
    const isMaker = options.signal === signal && !(await isMadeElsewhere(active));
    if (!isMaker) given.resolve(toPending(callId, openQuestion(journal.call)));
  };
  const onAbort = (): void => void giveUp().catch(() => undefined); // the wait then ends with the same error
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([waiting, given.promise]);
  } finally {
    waiting.catch(() => undefined);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Is the call already stored, and made by another runtime? */
async function isMadeElsewhere(active: ActiveCall): Promise<boolean> {
  const reply = await active.reply;
  return reply?.type === 'held' && !active.live.journal.owned && !active.live.signals.tookOver;
}

async function untilReply(active: ActiveCall, turn: TurnState): Promise<ToolOutcome | PendingCall> {
  const { live } = active;
  if (active.reply === undefined) throw new TypeError(`Call ${live.callId} is not being made.`);
  const leftMs = turn.deadlineAtMs - live.engine.clock.monotonicMs();
  const bounded = leftMs !== Number.POSITIVE_INFINITY;
  // The attempt bounds only the turn that makes the call. A turn that joined has its own deadline.
  if (bounded && live.turn !== turn) return untilDeadline(active, active.reply, leftMs);
  const reply = await active.reply;
  if (reply.type !== 'held') return reply;
  return bounded ? untilDeadline(active, reply, leftMs) : stayAwake(live.engine, reply.rest);
}

async function untilDeadline(
  active: ActiveCall,
  telling: PendingReply | Promise<CallReply>,
  leftMs: number,
): Promise<ToolOutcome | PendingCall> {
  const { engine, request } = active.live;
  let asked: PendingReply | undefined;
  const outcome = async (): Promise<ToolOutcome> => {
    const reply = await telling;
    if (reply.type !== 'held') return reply;
    asked = reply;
    return reply.rest;
  };
  return new Promise((resolve, reject) => {
    const watch = engine.deadlines.watch(Math.max(0, leftMs), () => resolve(toPending(request.id, asked)));
    void outcome()
      .then(resolve, reject)
      .finally(() => watch.stop());
  });
}

/**
 * For callers that expect an outcome or an exception. A framework may show the message to its model, so it
 * only says what the call waits for. The remedy in the error is for the developer.
 */
export function orPending(answer: ToolOutcome | PendingCall): ToolOutcome {
  if (answer.type !== 'pending') return answer;
  const { callId, confirmationId, waitsFor } = answer;
  throw new QuittanceError(
    'call.pending',
    confirmationId === undefined
      ? `Call ${callId} is still being made elsewhere, and its caller no longer waits for it here. Do not make it again.`
      : `Call ${callId} has not run: it still waits for a person.${waitsFor === undefined ? '' : ` ${waitsFor}`} Do not make it again.`,
    {
      callId,
      ...(confirmationId !== undefined && { confirmationId }),
      ...(waitsFor !== undefined && { waitsFor }),
    },
  );
}
