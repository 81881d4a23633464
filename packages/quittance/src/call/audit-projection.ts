import type { Call } from './call.ts';
import type { CallEvent, CallNotAccepted, ToolPreviewed } from './event.ts';
import type { ListenExecutionContext, ToolAuditOutcome, ToolAuditRecord } from './audit.ts';
import type { ToolFailure, ToolOutcome, ToolResult } from './outcome.ts';
import { outcomeToToolResult, outputToToolResult } from './outcome.ts';
import type { PersistenceBoundary } from './persistence-boundary.ts';
import { hasPolicy, isApproval } from './quorum.ts';
import { evolve } from './evolve.ts';

/**
 * The audit records of calls, in the order of their events. Each record is a view of the event that caused
 * it. The events of several calls may be mixed, but those of a call must be complete. A call that was not
 * accepted has no other event.
 */
export function projectAudit(events: Iterable<CallEvent | CallNotAccepted>): ToolAuditRecord[] {
  const records: ToolAuditRecord[] = [];
  const calls = new Map<string, Call>();
  /** The indices of a call's records of failed writes. */
  const failedWrites = new Map<string, readonly number[]>();
  for (const event of events) {
    if (event.type === 'call.not_accepted') {
      records.push(toRefusalRecord(event));
      continue;
    }
    const before = calls.get(event.callId);
    const call = evolve(before, event);
    calls.set(event.callId, call);
    const outcome = auditOutcomeOf(before, event);
    if (outcome !== undefined) {
      if (outcome.kind === 'persistence_failed' && carriesResult(outcome.boundary))
        failedWrites.set(event.callId, [...(failedWrites.get(event.callId) ?? []), records.length]);
      records.push(toRecord(call, event, outcome));
    }
    const written = failedWrites.size === 0 ? undefined : failedWrites.get(event.callId);
    if (written !== undefined) completeFailedWrites(records, written, event);
  }
  return records;
}

/**
 * A failed write of a result is recorded before that result. Its record carries the result nevertheless: the
 * end that was written later, the output that could not become an artifact, or the late result.
 */
function completeFailedWrites(
  records: ToolAuditRecord[],
  written: readonly number[],
  event: CallEvent,
): void {
  const given = event.type === 'tool.responded' && event.final ? resultOf(event.outcome) : lateResult(event);
  if (given === undefined) return;
  for (const index of written) {
    const record = records[index];
    if (record?.outcome.kind !== 'persistence_failed') continue;
    // A late event has the result of the body. The end only says that it could not be stored.
    if (record.outcome.result === undefined || event.type === 'tool.late')
      records[index] = { ...record, outcome: { ...record.outcome, result: given } };
  }
}

const carriesResult = (boundary: PersistenceBoundary): boolean =>
  boundary === 'settle' || boundary === 'artifact' || boundary === 'report';

function resultOf(outcome: ToolOutcome): ToolResult {
  const kept = outcome.type === 'ToolFailure' ? outcome.payloadExtras?.['output'] : undefined;
  return outcome.type === 'ToolFailure' && outcome.code === 'tool.indeterminate' && kept !== undefined
    ? outputToToolResult(kept)
    : outcomeToToolResult(outcome);
}

const lateResult = (event: CallEvent): ToolResult | undefined =>
  event.type === 'tool.late' && event.result.type === 'returned'
    ? outputToToolResult(event.result.output)
    : undefined;

function auditOutcomeOf(before: Call | undefined, event: CallEvent): ToolAuditOutcome | undefined {
  switch (event.type) {
    case 'tool.held':
      return {
        kind: 'requires_confirmation',
        description: event.description,
        ...(before?.preview !== undefined && { listenContext: toListenContext(before.preview) }),
      };
    case 'tool.responded':
      if (!event.final) return undefined;
      if (before?.copiedFrom !== undefined)
        return { kind: 'cached', result: outcomeToToolResult(event.outcome) };
      return settledOutcome(before, event.outcome);
    case 'tool.recalled':
      if (before?.settled === undefined || event.how === 'conflict') return undefined;
      return { kind: event.how, result: outcomeToToolResult(before.settled.outcome) };
    case 'persistence.failed':
      return {
        kind: 'persistence_failed',
        error: event.error,
        boundary: event.boundary,
        ...(event.result !== undefined
          ? { result: outputToToolResult(event.result) }
          : before?.settled && { result: outcomeToToolResult(before.settled.outcome) }),
      };
    case 'tool.requested':
    case 'tool.resolved':
    case 'tool.decided':
    case 'tool.started':
    case 'tool.late':
    case 'retry.requested':
    case 'confirmation.decided':
    case 'confirmation.voted':
    case 'confirmation.reminded':
    case 'confirmation.expired':
    case 'confirmation.withdrawn':
    case 'tool.previewed':
    case 'tool.taken_over':
    case 'tool.reported':
    case 'tool.undone':
    case 'runtime.budget_exhausted':
      return undefined;
    default:
      event satisfies never;
      return undefined;
  }
}

const toListenContext = (preview: ToolPreviewed): ListenExecutionContext => ({
  operationId: preview.operationId,
  revision: preview.revision,
  snapshot: preview.snapshot,
  ...(preview.expiresAt !== undefined && { expiresAt: preview.expiresAt }),
});

function settledOutcome(before: Call | undefined, outcome: ToolOutcome): ToolAuditOutcome {
  if (isCancelledHold(before, outcome)) return { kind: 'invalidated', reason: outcome.error };
  if (outcome.type !== 'ToolDenied') return { kind: 'completed', result: outcomeToToolResult(outcome) };
  const closedWindow = outcome.reason === 'expired' || before?.confirmation?.status === 'withdrawn';
  return { kind: closedWindow ? 'invalidated' : 'blocked', reason: outcome.details || outcome.code };
}

/** The call was held, and cancelled before its body started. */
const isCancelledHold = (before: Call | undefined, outcome: ToolOutcome): outcome is ToolFailure =>
  outcome.type === 'ToolFailure' &&
  outcome.code === 'tool.cancelled' &&
  before?.confirmation !== undefined &&
  before.attempt === 0;

/** Nothing ran, and the arguments were not stored. */
const toRefusalRecord = (event: CallNotAccepted): ToolAuditRecord => ({
  recordId: event.id,
  sessionId: event.sessionId,
  turnId: event.turnId,
  callId: event.refusedCallId,
  attempt: 0,
  toolName: event.toolName,
  displayName: event.toolName,
  mode: event.mode,
  modeOrigin: event.modeOrigin,
  requestedInput: null,
  effectiveInput: undefined,
  inputDigest: undefined,
  principal: event.principal,
  provenance: undefined,
  askedBy: undefined,
  policyVersion: undefined,
  decidedBy: undefined,
  grantId: undefined,
  toolSuccess: undefined,
  outcome: { kind: 'persistence_failed', error: event.error, boundary: event.boundary },
  cause: event.cause,
  at: event.at,
});

function approversOf({ confirmation }: Call): Pick<ToolAuditRecord, 'approvers'> {
  if (confirmation === undefined || !hasPolicy(confirmation.asks)) return {};
  return { approvers: confirmation.votes.filter(isApproval).map(({ by }) => by) };
}

function toRecord(call: Call, event: CallEvent, outcome: ToolAuditOutcome): ToolAuditRecord {
  return {
    recordId: event.id,
    sessionId: call.sessionId,
    turnId: event.turnId,
    callId: call.callId,
    attempt: call.attempt,
    toolName: call.toolName,
    displayName: call.displayName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    ...(call.risk !== undefined && { risk: call.risk }),
    requestedInput: call.requestedInput,
    effectiveInput: call.effectiveInput ?? (call.inputDigest === undefined ? undefined : call.requestedInput),
    inputDigest: call.inputDigest,
    principal: call.principal,
    provenance: call.provenance,
    askedBy: call.askedBy,
    policyVersion: call.policyVersion,
    decidedBy: call.decidedBy,
    ...approversOf(call),
    grantId: call.grantId,
    toolSuccess: event.type === 'tool.responded' ? event.toolSuccess : undefined,
    outcome,
    cause: event.cause,
    at: event.at,
  };
}
