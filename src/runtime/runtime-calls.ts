/** `runtime.calls`: reads the calls on record, and completes or undoes them after they ended. */
import type { ToolAuditRecord } from '../call/audit.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { Call } from '../call/call.ts';
import type { CallEvent, CallNotAccepted } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredArtifact } from '../ledger/artifacts.ts';
import type { Page } from '../ledger/call-query.ts';
import { isAuditEvent, isCallEvent } from '../ledger/fold-stored.ts';
import { orUnavailable } from './host/ledger-trouble.ts';
import { readStoredArtifact } from './host/read-stored-artifact.ts';
import { readRefusals, withRefusals } from '../ledger/read-refusals.ts';
import type { ErrorGroup, ErrorQuery } from '../ledger/summarize-errors.ts';
import type { UnresolvedCall } from './host/unresolved-call.ts';
import { listErrors } from './list-errors.ts';
import type { CallFilter } from './read-events.ts';
import { readEvents } from './read-events.ts';
import type { UnresolvedQuery } from './recovery/list-unresolved.ts';
import { listUnresolved } from './recovery/list-unresolved.ts';
import type { AskTool, FoundOut } from './recovery/reconcile.ts';
import { reconcile } from './recovery/reconcile.ts';
import type { Engine } from './state/engine.ts';
import type { CallRef } from './state/gate.ts';
import type { UndoRequest } from './undo.ts';
import { undo } from './undo.ts';
import type { RuntimeCore } from './runtime-core.ts';

/** The calls on record. */
export interface RuntimeCalls {
  /** Calls of a session in the order of their requests. */
  list(filter: CallFilter): Promise<readonly Call[]>;
  /** Audit records in the order they were written. */
  audit(filter: CallFilter): Promise<readonly ToolAuditRecord[]>;
  /** Calls that failed, timed out or were denied, grouped by who can fix the cause. */
  errors(query?: ErrorQuery): Promise<readonly ErrorGroup[]>;
  /** Calls that may have taken effect although the runtime cannot tell, newest first, with what is known. */
  unresolved(query?: UnresolvedQuery): Promise<Page<UnresolvedCall>>;
  /** Records what was found out about a call with an unknown end. The outcome of the call does not change. */
  reconcile(call: CallRef, found: FoundOut | AskTool): Promise<Call>;
  /**
   * Undoes a call whose outcome says that it can be undone. The undo is a separate call: rules, limits and people judge
   * it like any other. A call is undone at most once.
   */
  undo(call: CallRef, request: UndoRequest): Promise<ToolOutcome>;
  /**
   * A large output, or a file of an output, as it is stored. Undefined if the session has no such artifact. Throws
   * `ledger.altered` if it was changed since.
   */
  artifact(artifact: ArtifactRef): Promise<StoredArtifact | undefined>;
}

export type ArtifactRef = { readonly sessionId: string; readonly artifactId: string };

export function createRuntimeCalls(state: RuntimeCore): RuntimeCalls {
  const { engine } = state;
  return {
    list: async (filter) =>
      (await orUnavailable(readCalls(engine, filter))).flatMap((events) => foldCall(events) ?? []),
    audit: async (filter) => projectAudit(await orUnavailable(readAudited(engine, filter))),
    errors: async (query = {}) => orUnavailable(listErrors(engine, query)),
    unresolved: (query = {}) => orUnavailable(listUnresolved(engine, query)),
    reconcile: (call, found) => orUnavailable(reconcile(state, call, found)),
    undo: (call, request) => orUnavailable(undo(state, call, request)),
    artifact: ({ sessionId, artifactId }) =>
      orUnavailable(readStoredArtifact(engine.ledger, sessionId, artifactId)),
  };
}

async function readCalls(engine: Engine, filter: CallFilter): Promise<readonly (readonly CallEvent[])[]> {
  const calls = new Map<string, CallEvent[]>();
  for (const event of await readEvents(engine.ledger.journal, filter)) {
    if (!isCallEvent(event)) continue;
    const known = calls.get(event.callId);
    if (known === undefined) calls.set(event.callId, [event]);
    else known.push(event);
  }
  return [...calls.values()];
}

async function readAudited(
  { ledger }: Engine,
  filter: CallFilter,
): Promise<readonly (CallEvent | CallNotAccepted)[]> {
  const events = await readEvents(ledger.journal, filter);
  const { sessionId, callId } = filter;
  if (callId === undefined) return events.filter(isAuditEvent);
  return withRefusals(events.filter(isCallEvent), await readRefusals(ledger, { sessionId, callId }));
}
