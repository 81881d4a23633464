/**
 * What would the call do? A tool with a preview shows it here, after every other gate, so that a blocked call
 * never runs its preview. Then policy judges the call again, with the snapshot, and that ruling counts.
 */
import type { Findings, ReadyCall } from '../state/call-stages.ts';
import { releasePreview } from '../preview/release-preview.ts';
import { currentSnapshot, isStale, recallSnapshot } from '../state/recall-snapshot.ts';
import { runPreview } from '../preview/run-preview.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';
import { policyGate } from './policy.ts';

export const previewGate: Gate = {
  name: 'preview',
  check: (live) => (live.tool.preview === undefined ? undefined : show(live)),
};

/** After an approval: policy judges the approved snapshot, and no other. */
export const snapshotGate: Gate = {
  name: 'preview',
  check: (live) => (live.journal.call?.preview === undefined ? undefined : recall(live)),
};

async function recall(live: ReadyCall): Promise<Verdict> {
  if (await recallSnapshot(live)) return undefined;
  return stale('The hidden content of the preview can no longer be read.');
}

async function show(live: ReadyCall & Findings): Promise<Verdict> {
  const { journal, signals } = live;
  if (currentSnapshot(live) !== undefined && journal.call?.preview?.ready === true) {
    if (!isStale(live)) return undefined;
    if (journal.call.status === 'approved') return stale('The approved preview has expired.');
  }
  let isOver = false;
  signals.abandon = () => {
    isOver = true;
  };
  if (journal.call?.preview !== undefined) await releasePreview(live, 'it is made anew');
  if (isOver) return stale('The call no longer waits for the preview.');
  const stop = await runPreview(live);
  if (stop !== undefined) return stop;
  if (isStale(live)) return stale('The preview was stale when it was ready.');
  // Asks of earlier gates stay. Hooks and rules are asked again, with the snapshot.
  const asks = live.asks.filter(({ by }) => by.type === 'gate');
  return (await policyGate.check({ ...live, asks })) ?? { type: 'found', found: { asks } };
}

const stale = (details: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'confirmation.expired',
  details,
});
