import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import type { CallInHand } from './call-in-hand.ts';
import { whenChanged } from './when-changed.ts';

/**
 * Waits until another process moves this call: the one in hand, or one whose idempotency key it shares. That process may
 * be stopped or take for ever, so a runtime that is closed stops waiting. Throws `call.pending` then: the call in hand is
 * as open as before. It also throws where the call in hand has ended meanwhile, e.g. by its deadline, which no caller hears.
 */
export async function unlessLeft(hand: CallInHand, call: Call, version: number): Promise<void> {
  const stop = new AbortController();
  const leave = (): void => stop.abort();
  hand.onLeave = leave;
  hand.abandon = leave;
  if (hand.left) leave();
  try {
    await whenChanged(hand.engine, call, version, stop.signal);
  } finally {
    if (hand.onLeave === leave) hand.onLeave = undefined;
    if (hand.abandon === leave) hand.abandon = undefined;
  }
  if (!stop.signal.aborted) return;
  // The next runtime on the ledger may go on with it.
  if (hand.left) hand.owned = false;
  const isOther = call.callId !== hand.callId || call.sessionId !== hand.sessionId;
  throw new QuittanceError(
    'call.pending',
    (isOther
      ? `Call ${hand.callId} waits for call ${call.callId}, which has the same idempotency key, and this runtime was closed. `
      : `Another process makes call ${hand.callId}, and this runtime was closed. `) +
      'Ask again with the same id in another runtime on the same ledger.',
    { callId: hand.callId },
  );
}
