/**
 * What would the call do? A tool that can shows it, after everything that could stop the call without that: a blocked
 * call never runs its preview. Then policy is asked once more, with the snapshot; what it says then counts.
 */
import type { CallInHand } from '../state/call-in-hand.ts';
import { letGo } from '../preview/let-go.ts';
import { currentSnapshot, isStale, recallSnapshot } from '../state/recall-snapshot.ts';
import { runPreview } from '../preview/run-preview.ts';
import type { Gate, Stop } from '../state/gate.ts';
import { policyGate } from './policy.ts';

export const previewGate: Gate = {
  name: 'preview',
  check: (hand) => (hand.knownTool.preview === undefined ? undefined : show(hand)),
};

/** After a person agreed: policy is to look at the snapshot that was approved, and nothing else will do. */
export const snapshotGate: Gate = {
  name: 'preview',
  check: (hand) => (hand.call?.preview === undefined ? undefined : recall(hand)),
};

async function recall(hand: CallInHand): Promise<Stop | undefined> {
  if (await recallSnapshot(hand)) return undefined;
  return stale('What the preview showed is hidden and cannot be read any more.');
}

async function show(hand: CallInHand): Promise<Stop | undefined> {
  if (currentSnapshot(hand) !== undefined && hand.call?.preview?.ready === true) {
    if (!isStale(hand)) return undefined;
    if (hand.call.status === 'approved') return stale('What was approved has gone stale.');
  }
  let isOver = false;
  hand.abandon = () => {
    isOver = true;
  };
  if (hand.call?.preview !== undefined) await letGo(hand, 'it is made anew');
  if (isOver) return stale('Nobody waits for the preview any more.');
  const stop = await runPreview(hand);
  if (stop !== undefined) return stop;
  if (isStale(hand)) return stale('The preview was stale when it was ready.');
  // Whatever the gates before asked for stays asked for.
  hand.asks = hand.asks.filter(({ by }) => by.type === 'gate');
  return policyGate.check(hand);
}

const stale = (details: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'confirmation.expired',
  details,
});
