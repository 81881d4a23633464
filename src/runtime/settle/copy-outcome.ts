import type { ToolOutcome } from '../../call/outcome.ts';
import type { EndedCall } from '../state/call-stages.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { CallRef } from '../state/gate.ts';
import { noAttempt, settle, unjudged } from './settle.ts';

/** Answers a call with the outcome of another call that has the same key. Only the call id changes. */
export async function copyOutcome(live: EndedCall, from: CallRef): Promise<ToolOutcome> {
  const { ledger } = live.engine;
  const stored = await ledger.journal.readCall(from.sessionId, from.callId);
  const settled = stored && foldStored(stored)?.settled;
  if (settled === undefined) throw new TypeError(`Call ${from.callId} was settled and is no longer stored.`);
  const outcome: ToolOutcome = Object.freeze({ ...settled.outcome, callId: live.request.id });
  if (from.sessionId !== live.turn.sessionId) await bringArtifacts(live, from, outcome);
  live.journal.apply({
    type: 'recall',
    how: 'cached',
    fromCallId: from.callId,
    details: 'Answered by a call with the same idempotency key.',
  });
  // The claim on the key stays with the other call.
  return settle({ ...live, claimKey: undefined }, unjudged(outcome, true), noAttempt);
}

/** Artifacts can be read only within their session, so a call in another session needs its own copy. */
async function bringArtifacts(live: EndedCall, from: CallRef, outcome: ToolOutcome): Promise<void> {
  const { ledger } = live.engine;
  const ids = 'files' in outcome ? (outcome.files ?? []).map(({ artifactId }) => artifactId) : [];
  if (outcome.type === 'ToolArtifactReference') ids.push(outcome.artifactId);
  for (const artifactId of ids) {
    const artifact = await ledger.artifacts.read(from.sessionId, artifactId);
    if (artifact !== undefined)
      await ledger.artifacts.put({ ...artifact, sessionId: live.turn.sessionId, callId: live.request.id });
  }
}
