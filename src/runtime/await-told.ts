import { QuittanceError } from '../base/error.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { CallInHand } from './call-in-hand.ts';
import type { CallOptions } from './call-options.ts';
import { stayAwake } from './stay-awake.ts';
import type { HeldCall, Told } from './told.ts';
import type { TurnState } from './turn-state.ts';

/** In the place of an outcome: the call still waits for a person, or is still being made by somebody else. */
export type PendingCall = {
  readonly type: 'pending';
  readonly callId: string;
  /** What the person is asked; undefined where nobody is. */
  readonly confirmationId: string | undefined;
};

/**
 * The outcome, or word that there is none yet when the turn's time is up, or when the caller gives up a call that
 * somebody else is making. Neither ends a hold or such a call.
 */
export function awaitTold(
  hand: CallInHand,
  turn: TurnState,
  options: CallOptions = hand.options,
): Promise<ToolOutcome | PendingCall> {
  const told = untilTold(hand, turn);
  return options.signal === undefined ? told : unlessGivenUp(hand, options, told);
}

/**
 * The signal of whoever makes the call cancels it, and the outcome says so. That of one who joined, here or from another
 * process, ends his own wait: the call is not his to cancel.
 */
export async function unlessGivenUp(
  hand: CallInHand,
  { signal }: CallOptions,
  waiting: Promise<ToolOutcome | PendingCall>,
): Promise<ToolOutcome | PendingCall> {
  if (signal === undefined) return waiting;
  const given = Promise.withResolvers<PendingCall>();
  const giveUp = async (): Promise<void> => {
    const isMaker = hand.options.signal === signal && !(await isMadeElsewhere(hand));
    const { callId, call } = hand;
    const asked = call?.confirmation?.status === 'pending' ? call.confirmation.confirmationId : undefined;
    if (!isMaker) given.resolve({ type: 'pending', callId, confirmationId: asked });
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
async function isMadeElsewhere(hand: CallInHand): Promise<boolean> {
  const told = await hand.told;
  return told?.type === 'held' && !hand.owned;
}

async function untilTold(hand: CallInHand, turn: TurnState): Promise<ToolOutcome | PendingCall> {
  if (hand.told === undefined) throw new TypeError(`Call ${hand.request.id} is not being made.`);
  const leftMs = turn.deadlineAtMs - hand.engine.clock.monotonicMs();
  const bounded = leftMs !== Number.POSITIVE_INFINITY;
  // A turn that joined the call of another is not bounded by the attempt: that has the other's time.
  if (bounded && hand.turn !== turn) return untilDeadline(hand, hand.told, leftMs);
  const told = await hand.told;
  if (told.type !== 'held') return told;
  return bounded ? untilDeadline(hand, told, leftMs) : stayAwake(hand.engine, told.rest);
}

async function untilDeadline(
  hand: CallInHand,
  telling: HeldCall | Promise<Told>,
  leftMs: number,
): Promise<ToolOutcome | PendingCall> {
  const { engine, request } = hand;
  let asked: string | undefined;
  const outcome = async (): Promise<ToolOutcome> => {
    const told = await telling;
    if (told.type !== 'held') return told;
    asked = told.confirmationId;
    return told.rest;
  };
  return new Promise((resolve, reject) => {
    const watch = engine.deadlines.watch(Math.max(0, leftMs), () =>
      resolve({ type: 'pending', callId: request.id, confirmationId: asked }),
    );
    void outcome()
      .then(resolve, reject)
      .finally(() => watch.stop());
  });
}

/** For callers that want an outcome or an exception. */
export function orPending(answer: ToolOutcome | PendingCall): ToolOutcome {
  if (answer.type !== 'pending') return answer;
  const { callId, confirmationId } = answer;
  const rejoin = 'Ask again with the same id, in any turn of the session, to rejoin it.';
  throw new QuittanceError(
    'call.pending',
    confirmationId === undefined
      ? `Call ${callId} is still being made, and nobody waits for it here any more: the turn is over, or its caller gave up. ${rejoin}`
      : `Call ${callId} still waits for a person (confirmation ${confirmationId}) and the turn is over; nothing ran. ` +
          "Whoever may decide finds it with runtime.confirmations({ status: 'pending' }) and answers with " +
          'runtime.decide, in any process that shares the ledger. To have calls decided at once give createRuntime ' +
          `an \`onConfirm\`, to run tools of a mode unasked \`treatments\`. ${rejoin}`,
    { callId, ...(confirmationId !== undefined && { confirmationId }) },
  );
}
