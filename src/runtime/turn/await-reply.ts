import { QuittanceError } from '../../base/error.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { ActiveCall } from '../state/active-call.ts';
import type { CallOptions } from '../host/call-options.ts';
import { stayAwake } from '../state/stay-awake.ts';
import type { PendingReply, CallReply } from '../state/call-reply.ts';
import { openQuestion } from '../state/call-reply.ts';
import type { TurnState } from '../state/turn-state.ts';

/** In the place of an outcome: the call still waits for a person, or is still being made by somebody else. */
export type PendingCall = {
  readonly type: 'pending';
  readonly callId: string;
  /** What the person is asked; undefined where nobody is. */
  readonly confirmationId: string | undefined;
  /** Why a person is asked, in words that may be shown to the model. Absent where nobody is. */
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
 * The outcome, or word that there is none yet when the turn's time is up, or when the caller gives up a call that
 * somebody else is making. Neither ends a hold or such a call.
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
 * The signal of whoever makes the call cancels it, and the outcome says so. That of one who joined, here or from another
 * process, ends his own wait: the call is not his to cancel.
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
  const onAbort = (): void => void giveUp().catch(() => undefined); // then whoever waits is told the same
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([waiting, given.promise]);
  } finally {
    waiting.catch(() => undefined);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whether the call is on record already, and not this runtime's. */
async function isMadeElsewhere(active: ActiveCall): Promise<boolean> {
  const reply = await active.reply;
  return reply?.type === 'held' && !active.live.journal.owned;
}

async function untilReply(active: ActiveCall, turn: TurnState): Promise<ToolOutcome | PendingCall> {
  const { live } = active;
  if (active.reply === undefined) throw new TypeError(`Call ${live.callId} is not being made.`);
  const leftMs = turn.deadlineAtMs - live.engine.clock.monotonicMs();
  const bounded = leftMs !== Number.POSITIVE_INFINITY;
  // A turn that joined the call of another is not bounded by the attempt: that has the other's time.
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
 * For callers that want an outcome or an exception. A framework may show the message to its model, so it only says what
 * the call waits for; the remedy of the error is for the developer.
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
