import { QuittanceError } from '../base/error.ts';
import { formatPath, freezeJson, toJson } from '../base/json.ts';
import type { JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import { decide } from '../call/decide.ts';
import type { Resolution } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { Engine } from './engine.ts';
import { foldStored } from './fold-stored.ts';
import type { CallRef } from './gates/gate.ts';

/** What somebody found out about a call whose end was not known. */
export type FoundOut = {
  readonly resolution: Resolution;
  /** Who found out. */
  readonly by: string;
  readonly reason?: string;
  /** What the effect gave, where that is known. */
  readonly result?: unknown;
};

/** Appends a resolution. The first one counts; the outcome stays what it is. */
export async function reconcile(
  engine: Engine,
  { sessionId, callId }: CallRef,
  found: FoundOut,
): Promise<Call> {
  const { ledger, redactor } = engine;
  if (typeof found.by !== 'string' || found.by.trim() === '')
    throw new QuittanceError('config.invalid', 'A resolution needs the name of whoever found out: by.');
  if (!['succeeded', 'failed', 'safe_to_retry'].includes(found.resolution))
    throw new QuittanceError('config.invalid', 'resolution must be succeeded, failed or safe_to_retry.');
  const result = readResult(found.result);
  for (;;) {
    const stored = await ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined)
      throw new QuittanceError('call.unknown', `The session ${sessionId} has no call ${callId}.`, {
        sessionId,
        callId,
      });
    const decision = decide(
      call,
      {
        type: 'resolve',
        resolution: found.resolution,
        by: { type: 'person', name: found.by },
        reason: found.reason && redactor.text(found.reason),
        result: result && redactor.output(result).value,
      },
      { sessionId, turnId: call.turnId, callId, at: ledger.now(), nextId: engine.nextEventId },
    );
    if (!decision.ok)
      throw new QuittanceError('call.resolved', `Call ${callId}: ${decision.refusal}`, { sessionId, callId });
    const appended = await ledger.append({
      entryId: engine.ids.next('ent'),
      sessionId,
      callId,
      expectedVersion: stored.version,
      events: [Object.freeze(decision.event)],
    });
    if (appended.status === 'appended') return evolve(call, decision.event);
  }
}

function readResult(result: unknown): JsonValue | undefined {
  if (result === undefined) return undefined;
  const read = toJson(result);
  if (read.ok) return freezeJson(read.value);
  throw new QuittanceError(
    'config.invalid',
    `The result is not JSON at ${formatPath(read.path)}: ${read.problem}`,
  );
}
