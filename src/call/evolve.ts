import type { Call } from './call.ts';
import type { CallEvent, ToolRequested } from './event.ts';

/**
 * Events give the call. Total: an event this version does not know leaves the call as it was, so that a
 * newer ledger can be read.
 *
 * `tool.requested` is always a call's first event; `decide` sees to that.
 */
export function evolve(call: Call | undefined, event: CallEvent): Call {
  if (call === undefined) {
    if (event.type !== 'tool.requested')
      throw new TypeError(`A call begins with tool.requested, not with ${event.type}.`);
    return begin(event);
  }
  const next = { ...call, lastEventId: event.id };
  switch (event.type) {
    case 'tool.requested':
      return call;
    case 'tool.decided':
      return {
        ...next,
        effectiveInput: event.effectiveInput ?? call.effectiveInput,
        inputDigest: event.inputDigest ?? call.inputDigest,
        wasCoerced: call.wasCoerced || event.changes.length > 0,
        policyVersion: event.policyVersion ?? call.policyVersion,
        ruling: event.decision,
        decidedBy: event.decidedBy ?? call.decidedBy,
      };
    case 'tool.held':
      return {
        ...next,
        status: 'held',
        confirmation: {
          confirmationId: event.confirmationId,
          description: event.description,
          asks: event.asks,
          inputDigest: event.inputDigest,
          askedAt: event.at,
          status: 'pending',
          by: undefined,
          reason: undefined,
        },
      };
    case 'confirmation.decided':
      return {
        ...next,
        status: event.decision === 'approve' ? 'approved' : 'held',
        decidedBy: { type: 'person', name: event.by },
        confirmation: call.confirmation && {
          ...call.confirmation,
          status: event.decision === 'approve' ? 'approved' : 'denied',
          by: event.by,
          reason: event.reason,
        },
      };
    case 'confirmation.withdrawn':
      return {
        ...next,
        confirmation: call.confirmation && {
          ...call.confirmation,
          status: 'withdrawn',
          reason: event.reason,
        },
      };
    case 'tool.started':
      return { ...next, status: 'running', attempt: event.attempt };
    case 'tool.responded':
      if (!event.final) return next;
      return {
        ...next,
        status: 'settled',
        settled: {
          outcome: event.outcome,
          content: event.content,
          at: event.at,
          costMicros: event.costMicros,
          unsettledEffect: event.unsettledEffect,
        },
      };
    case 'tool.late':
      return { ...next, late: [...call.late, event] };
    case 'tool.recalled':
      return event.how === 'cached' && call.settled === undefined
        ? { ...next, copiedFrom: event.fromCallId }
        : { ...next, recalls: call.recalls + 1 };
    case 'runtime.budget_exhausted':
      return next;
    default:
      event satisfies never;
      return call;
  }
}

/** The call its events tell of. */
export function foldCall(events: Iterable<CallEvent>): Call | undefined {
  let call: Call | undefined;
  for (const event of events) call = evolve(call, event);
  return call;
}

function begin(event: ToolRequested): Call {
  return {
    sessionId: event.sessionId,
    turnId: event.turnId,
    callId: event.callId,
    toolName: event.toolName,
    displayName: event.displayName,
    mode: event.mode,
    modeOrigin: event.modeOrigin,
    requestedInput: event.requestedInput,
    requestDigest: event.requestDigest,
    effectiveInput: undefined,
    inputDigest: undefined,
    wasCoerced: false,
    principal: event.principal,
    provenance: event.provenance,
    attrs: event.attrs,
    policyVersion: undefined,
    ruling: undefined,
    decidedBy: undefined,
    copiedFrom: undefined,
    submitted: event.submitted,
    requestedAt: event.at,
    status: 'requested',
    attempt: 0,
    confirmation: undefined,
    settled: undefined,
    late: [],
    recalls: 0,
    lastEventId: event.id,
  };
}
