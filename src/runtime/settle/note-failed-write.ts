/** Notes writes of active calls that the ledger could not store. */
import type { JsonValue } from '../../base/json.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { PersistenceBoundary } from '../../call/persistence-boundary.ts';
import { cutText } from '../../base/cut-text.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { clean } from '../input/clean.ts';
import type { FailedWrite } from '../host/failed-writes.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { modeOf } from '../state/mode-of.ts';

/** Notes that an event of an active call could not be written. Rethrows any other error, which is a bug. */
export function noteFailedWrite(live: AcceptedCall, error: unknown): void {
  if (!(error instanceof LedgerTrouble)) return;
  // The failed write is not about these events, e.g. a decision. The code that made it notes it.
  if (live.journal.version > 0 && live.journal.unwritten.length === 0) return;
  const { failedWrites } = live.engine;
  const of: Pick<FailedWrite, 'call' | 'depth'> = {
    call: { sessionId: live.sessionId, callId: live.callId, turnId: live.turn.turnId },
    depth: live.turn.depth === 0 ? undefined : live.turn.depth,
  };
  const failure = { boundary: boundaryOf(live), error: cutText(clean(live, error.message), 500) };
  if (live.journal.version > 0) failedWrites.add({ ...of, ...failure });
  else
    failedWrites.refuse({
      ...of,
      cause: live.turn.origin,
      refusal: {
        toolName: live.request.name,
        ...modeOf(live),
        principal: live.facts.kept.principal,
        ...failure,
        failedAt: live.engine.ledger.now(),
      },
    });
}

/** The boundary of the failed write, derived from the events that were to be written. */
function boundaryOf(live: AcceptedCall): PersistenceBoundary {
  const types = new Set(live.journal.unwritten.map(({ type }) => type));
  if (types.has('tool.started')) return 'intent';
  if (types.has('tool.held')) return 'hold';
  if (types.has('confirmation.decided')) return 'decision';
  return live.journal.version === 0 ? 'request' : 'settle';
}

/** The result of a body, as the record of a failed write carries it. */
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
