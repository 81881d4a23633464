import { QuittanceError } from '../base/error.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { CallInHand, HeldCall } from './call-in-hand.ts';
import type { TurnState } from './turn-state.ts';

/** In the place of an outcome: the call still waits for a person. */
export type PendingCall = {
  readonly type: 'pending';
  readonly callId: string;
  readonly confirmationId: string;
};

/** The outcome, or word that the call is still held when the turn's time is up. The hold itself stays. */
export async function awaitTold(hand: CallInHand, turn: TurnState): Promise<ToolOutcome | PendingCall> {
  const told = await hand.told;
  if (told === undefined) throw new TypeError(`Call ${hand.request.id} is not being made.`);
  return told.type === 'held' ? awaitHeld(hand, told, turn) : told;
}

function awaitHeld(
  hand: CallInHand,
  { confirmationId, rest }: HeldCall,
  turn: TurnState,
): Promise<ToolOutcome | PendingCall> {
  const leftMs = turn.deadlineAtMs - hand.engine.clock.monotonicMs();
  if (leftMs === Number.POSITIVE_INFINITY) return rest;
  return new Promise((resolve, reject) => {
    const pending: PendingCall = { type: 'pending', callId: hand.request.id, confirmationId };
    const watch = hand.engine.deadlines.watch(Math.max(0, leftMs), () => resolve(pending));
    rest.then(resolve, reject).finally(() => watch.stop());
  });
}

/** For callers that want an outcome or an exception. */
export function orPending(answer: ToolOutcome | PendingCall): ToolOutcome {
  if (answer.type !== 'pending') return answer;
  const { callId, confirmationId } = answer;
  throw new QuittanceError(
    'call.pending',
    `Call ${callId} still waits for a person (confirmation ${confirmationId}) and the turn is over. Ask again with the same id to rejoin it.`,
    { callId, confirmationId },
  );
}
