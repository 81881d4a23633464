/** Notes writes of calls in hand that the ledger could not take. */
import type { JsonValue } from '../../base/json.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { PersistenceBoundary } from '../../call/persistence-boundary.ts';
import { cutText } from '../../base/cut-text.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import type { FailedWrite } from '../host/failed-writes.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { modeOf } from '../state/mode-of.ts';

/** Notes that something of a call in hand could not be written. Anything else is a mistake of ours and stays one. */
export function noteFailedWrite(hand: CallInHand, error: unknown): void {
  if (!(error instanceof LedgerTrouble)) return;
  // Another write failed than one of these events, e.g. a decision: that is noted where it is made.
  if (hand.version > 0 && hand.unwritten.length === 0) return;
  const { failedWrites } = hand.engine;
  const of: Pick<FailedWrite, 'call' | 'depth'> = {
    call: { sessionId: hand.sessionId, callId: hand.callId, turnId: hand.turnId },
    depth: hand.turn.depth === 0 ? undefined : hand.turn.depth,
  };
  const failure = { boundary: boundaryOf(hand), error: cutText(clean(hand, error.message), 500) };
  if (hand.version > 0) failedWrites.add({ ...of, ...failure });
  else
    failedWrites.refuse({
      ...of,
      cause: hand.origin,
      refusal: {
        toolName: hand.request.name,
        ...modeOf(hand),
        principal: hand.facts.kept.principal,
        ...failure,
        failedAt: hand.at,
      },
    });
}

/** The write that failed, by what was about to be written. */
function boundaryOf(hand: CallInHand): PersistenceBoundary {
  const types = new Set(hand.unwritten.map(({ type }) => type));
  if (types.has('tool.started')) return 'intent';
  if (types.has('tool.held')) return 'hold';
  if (types.has('confirmation.decided')) return 'decision';
  return hand.version === 0 ? 'request' : 'settle';
}

/** What a body gave, as a record of a failed write carries it. */
export function resultOf(outcome: ToolOutcome): JsonValue | undefined {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return outcome.output;
    case 'ToolArtifactReference':
      return { artifactId: outcome.artifactId, summary: outcome.summary };
    case 'ToolFailure':
      return outcome.payloadExtras?.['output'];
    case 'ToolTimeout':
    case 'ToolDenied':
      return undefined;
  }
}
