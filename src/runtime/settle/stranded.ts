/**
 * Calls the ledger knows of and whose end it could not take. Only this process knows how far they came, so it keeps
 * them. One whose body ran is settled as soon as the ledger takes writes again, before the next call is made. Any other
 * goes on from where it stopped when it is asked for again.
 */
import type { DataOf } from '../../call/event-data.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import type { Desk } from '../state/desk.ts';
import { readLate } from '../attempt/late.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { bodyEndOf, elapsedOf, keepAsLate, settle } from './settle.ts';

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
  const { end, late: given, attempt, why } = hand.unkept;
  const attemptNumber = hand.call?.attempt ?? 1;
  const late = given && (await toLate(hand, given, attemptNumber));
  const mark = hand.mark();
  hand.apply({ type: 'fail_to_persist', boundary: 'settle', error: why, keptIn: 'nowhere' });
  try {
    // One entry has the failed write, the end and what the body gave: none of them can be stored without the others.
    await settle(hand, { ...end, ...(late !== undefined && { late }) }, attempt);
  } catch (error) {
    // Still out of reach: the next call tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
  if (hand.call?.status !== 'settled') hand.rewind(mark);
  else if (given !== undefined && hand.call.late.length === 0) keepAsLate(hand, given, attemptNumber);
}

async function toLate(
  hand: CallInHand,
  outcome: ToolOutcome,
  attempt: number,
): Promise<DataOf<'tool.late'> | undefined> {
  const end = bodyEndOf(outcome);
  if (end === undefined) return undefined;
  return { attempt, elapsedMs: Math.round(elapsedOf(outcome)), result: await readLate(hand, end) };
}
