import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { CallRef } from '../state/gate.ts';
import { settle } from './settle.ts';

/** Answers a call with the outcome of another one that carries the same key: the new id, every other byte the same. */
export async function copyOutcome(hand: CallInHand, from: CallRef): Promise<ToolOutcome> {
  const { ledger } = hand.engine;
  const stored = await ledger.journal.readCall(from.sessionId, from.callId);
  const settled = stored && foldStored(stored)?.settled;
  if (settled === undefined) throw new TypeError(`Call ${from.callId} was settled and is not any more.`);
  const outcome: ToolOutcome = Object.freeze({ ...settled.outcome, callId: hand.request.id });
  if (from.sessionId !== hand.turn.sessionId) await bringArtifacts(hand, from, outcome);
  hand.apply({
    type: 'recall',
    how: 'cached',
    fromCallId: from.callId,
    details: 'Answered by a call with the same idempotency key.',
  });
  hand.claimKey = undefined;
  return settle(
    hand,
    { outcome, content: outcomeToModelContent(outcome), toolSuccess: true, authorSaysRetry: false },
    { costMicros: 0, reached: [], log: [], payloadExtras: undefined },
  );
}

/** An artifact is read within its session only, so a copy in another session needs its own. */
async function bringArtifacts(hand: CallInHand, from: CallRef, outcome: ToolOutcome): Promise<void> {
  const { ledger } = hand.engine;
  const ids = 'files' in outcome ? (outcome.files ?? []).map(({ artifactId }) => artifactId) : [];
  if (outcome.type === 'ToolArtifactReference') ids.push(outcome.artifactId);
  for (const artifactId of ids) {
    const artifact = await ledger.artifacts.read(from.sessionId, artifactId);
    if (artifact !== undefined)
      await ledger.artifacts.put({ ...artifact, sessionId: hand.turn.sessionId, callId: hand.request.id });
  }
}
