/**
 * Calls the ledger knows of and whose end it could not take. Only this process knows how far they came, so it keeps
 * them: one whose body ran is settled as it was told as soon as the ledger takes it, which is before the next call is
 * made; any other goes on from where it stopped when it is asked for again.
 */
import { outcomeToModelContent } from '../call/model-content.ts';
import type { CallInHand } from './call-in-hand.ts';
import type { Desk } from './desk.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { settle } from './settle.ts';

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
  const { outcome, attempt } = hand.unkept;
  const content = outcomeToModelContent(outcome);
  try {
    await settle(hand, { outcome, content, toolSuccess: undefined, authorSaysRetry: false }, attempt);
  } catch (error) {
    // Still out of reach: the next call tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}
