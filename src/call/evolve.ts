import type { Call } from './call.ts';
import type { CallEvent, ToolRequested } from './event.ts';

/**
 * Events give the call. Total: an event this version does not know leaves the call as it was, so that a
 * newer ledger can be read.
 *
 * `tool.requested` is always a call's first event; `decide` sees to that.
 */
export const evolve = (call: Call | undefined, event: CallEvent): Call =>
  call === undefined ? begin(event) : advance({ ...call }, event);

/** The call its events tell of. */
export function foldCall(events: Iterable<CallEvent>, from?: Call): Call | undefined {
  let draft: CallDraft | undefined = from && { ...from };
  for (const event of events) draft = draft === undefined ? begin(event) : advance(draft, event);
  return draft;
}

/** A call that its one owner may change in place. */
export type CallDraft = { -readonly [Key in keyof Call]: Call[Key] };

/** What `evolve` does, in place: for an owner nobody else has the call from. */
export function advance(call: CallDraft, event: CallEvent): CallDraft {
  // Taking over causes nothing: what follows is caused by what the call had come to.
  if (event.type !== 'tool.taken_over') call.lastEventId = event.id;
  switch (event.type) {
    case 'tool.requested':
      return call;
    case 'tool.decided':
      call.effectiveInput = event.effectiveInput ?? call.effectiveInput;
      call.inputDigest = event.inputDigest ?? call.inputDigest;
      if (event.inputDigest !== undefined) {
        call.inputForm = event.inputForm;
        call.artifacts = event.artifacts;
        call.acceptedInput =
          event.acceptedInput ?? (event.changes.length > 0 ? event.effectiveInput : call.acceptedInput);
      }
      call.wasCoerced ||= event.changes.length > 0;
      call.policyVersion = event.policyVersion ?? call.policyVersion;
      call.ruling = event.decision;
      call.decidedBy = event.decidedBy ?? call.decidedBy;
      call.grantId = event.grantId ?? call.grantId;
      return call;
    case 'tool.taken_over':
      call.takeovers = event.takeover;
      call.takenOverAt = event.at;
      return call;
    case 'tool.held':
      call.status = 'held';
      call.takeovers = 0;
      call.confirmation = {
        confirmationId: event.confirmationId,
        description: event.description,
        asks: event.asks,
        inputDigest: event.inputDigest,
        revision: event.revision,
        expiresAt: event.expiresAt,
        timeoutEffect: event.timeoutEffect,
        risk: event.risk,
        schemaDigest: event.schemaDigest,
        comparison: event.comparison,
        askedAt: event.at,
        status: 'pending',
        decision: undefined,
        by: undefined,
        reason: undefined,
        response: undefined,
        decidedAt: undefined,
      };
      return call;
    case 'confirmation.decided': {
      const approved = event.decision === 'approve' || event.decision === 'edit';
      call.takeovers = 0;
      if (approved) call.status = 'approved';
      // A denial received in time takes back what the expiry allowed.
      else if (call.status === 'approved') call.status = 'held';
      call.decidedBy = event.by;
      if (event.editedDigest !== undefined) {
        call.effectiveInput = event.editedInput;
        call.inputDigest = event.editedDigest;
        call.hidden = event.editedHidden;
        call.inputForm = event.editedForm;
        call.acceptedInput = event.editedAccepted ?? event.editedInput;
        call.artifacts = event.editedArtifacts;
        call.wasEdited = true;
      }
      call.confirmation &&= {
        ...call.confirmation,
        status: approved ? 'approved' : event.decision === 'respond' ? 'answered' : 'denied',
        decision: event.decision,
        by: event.by,
        reason: event.reason,
        response: event.response,
        decidedAt: event.at,
      };
      return call;
    }
    case 'confirmation.expired':
      call.takeovers = 0;
      if (event.effect === 'allow') call.status = 'approved';
      // An approval that was not used in time lets nothing run any more.
      else call.status = 'held';
      call.decidedBy = event.by ?? call.decidedBy;
      call.confirmation &&= {
        ...call.confirmation,
        status: event.effect === 'allow' ? 'approved' : 'expired',
        by: event.by,
        decidedAt: event.at,
      };
      return call;
    case 'tool.previewed':
      call.preview = event;
      return call;
    case 'tool.reported':
      if (event.what.type === 'claimed') call.handedTo = event;
      return call;
    case 'tool.undone':
      call.undone = event;
      return call;
    case 'confirmation.withdrawn':
      call.confirmation &&= { ...call.confirmation, status: 'withdrawn', reason: event.reason };
      return call;
    case 'tool.started':
      call.status = 'running';
      call.attempt = event.attempt;
      call.attemptsWithoutEnd++;
      // Whoever took the call over began this attempt: that is one process, counted once.
      if (call.takeovers > 0) call.takeovers--;
      call.started = event;
      call.failed = undefined;
      call.retry = undefined;
      return call;
    case 'tool.responded':
      if (!event.final) {
        call.failed = event;
        call.attemptsWithoutEnd = 0;
        call.takeovers = 0;
        call.spentMicros += event.costMicros;
        return call;
      }
      call.status = 'settled';
      call.settled = {
        outcome: event.outcome,
        content: event.content,
        at: event.at,
        costMicros: event.costMicros,
        unsettledEffect: event.unsettledEffect,
      };
      return call;
    case 'retry.requested':
      call.retry = event;
      return call;
    case 'tool.late':
      call.late = [...call.late, event];
      return call;
    case 'tool.recalled':
      if (event.how === 'cached' && call.settled === undefined) call.copiedFrom = event.fromCallId;
      else call.recalls++;
      return call;
    case 'tool.resolved':
      call.resolution = event;
      return call;
    case 'runtime.budget_exhausted':
    case 'persistence.failed':
      return call;
    default:
      event satisfies never;
      return call;
  }
}

export function begin(event: CallEvent): CallDraft {
  if (event.type !== 'tool.requested')
    throw new TypeError(`A call begins with tool.requested, not with ${event.type}.`);
  return beginWith(event);
}

const none: readonly never[] = Object.freeze([]);

const beginWith = (event: ToolRequested): CallDraft => ({
  sessionId: event.sessionId,
  turnId: event.turnId,
  callId: event.callId,
  toolName: event.toolName,
  displayName: event.displayName,
  mode: event.mode,
  modeOrigin: event.modeOrigin,
  requestedInput: event.requestedInput,
  hidden: event.hidden,
  requestDigest: event.requestDigest,
  effectiveInput: undefined,
  inputDigest: undefined,
  inputForm: undefined,
  acceptedInput: undefined,
  artifacts: none,
  wasCoerced: false,
  wasEdited: false,
  principal: event.principal,
  provenance: event.provenance,
  attrs: event.attrs,
  askedBy: event.askedBy,
  separateDuties: event.separateDuties ?? false,
  policyVersion: undefined,
  ruling: undefined,
  decidedBy: undefined,
  copiedFrom: undefined,
  submitted: event.submitted,
  requestedAt: event.at,
  status: 'requested',
  attempt: 0,
  attemptsWithoutEnd: 0,
  takeovers: 0,
  takenOverAt: undefined,
  started: undefined,
  failed: undefined,
  retry: undefined,
  spentMicros: 0,
  confirmation: undefined,
  preview: undefined,
  grantId: undefined,
  handedTo: undefined,
  undone: undefined,
  settled: undefined,
  late: none,
  resolution: undefined,
  recalls: 0,
  lastEventId: event.id,
});
