/**
 * Calls the ledger knows of and whose end it could not take. Only this process knows how far they came, so it keeps
 * them. One whose body ran is settled as soon as the ledger takes writes again, before the next call is made. Any other
 * goes on from where it stopped when it is asked for again.
 */
import type { CallInHand } from './call-in-hand.ts';
import type { Desk } from './desk.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { keepAsLate, settle } from './settle.ts';

/** Tries once more to settle what ran. One such round at a time. */
export function settleStranded(desk: Desk): Promise<void> {
  desk.settling ??= settleAll(desk).finally(() => {
    desk.settling = undefined;
  });
  return desk.settling;
}

async function settleAll({ stranded }: Desk): Promise<void> {
  for (const [key, hand] of stranded) {
    await settleUnkept(hand);
    if (hand.call?.status === 'settled') stranded.delete(key);
  }
}

async function settleUnkept(hand: CallInHand): Promise<void> {
  if (hand.unkept === undefined) return;
  const { end, late, attempt } = hand.unkept;
  const attemptNumber = hand.call?.attempt ?? 1;
  try {
    await settle(hand, end, attempt);
  } catch (error) {
    // Still out of reach: the next call tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
    return;
  }
  if (late !== undefined && hand.call?.status === 'settled') keepAsLate(hand, late, attemptNumber);
}
