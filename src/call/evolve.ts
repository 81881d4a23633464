import type { Answer, Call, CallFacts, CallState, Confirmation, Question } from './call.ts';
import type {
  CallEvent,
  ConfirmationDecided,
  ConfirmationExpired,
  ConfirmationVoted,
  ToolDecided,
  ToolHeld,
  ToolRequested,
  ToolResponded,
  ToolStarted,
} from './event.ts';
import type { Vote } from './vote.ts';
import { withVote, withoutFallen } from './quorum.ts';

/**
 * Events give the call. Total: an unknown event leaves the call unchanged, so that a newer ledger can be
 * read.
 *
 * `tool.requested` is always a call's first event; `decide` ensures that.
 */
export const evolve = (call: Call | undefined, event: CallEvent): Call =>
  toCall(call === undefined ? begin(event) : advance({ ...call }, event));

/** Folds a call from its events. */
export function foldCall(events: Iterable<CallEvent>, from?: Call): Call | undefined {
  let draft: CallDraft | undefined = from && { ...from };
  for (const event of events) draft = draft === undefined ? begin(event) : advance(draft, event);
  return draft && toCall(draft);
}

/**
 * A call that its one owner changes in place: the fields of every status in one object. `advance` sets those
 * that a status does not have to undefined.
 */
export type CallDraft = { -readonly [Key in keyof CallFacts]: CallFacts[Key] } & {
  -readonly [Key in keyof CallState]: CallState[Key];
};

/** The draft as a read-only call. */
export const toCall = (draft: CallDraft): Call => draft as Call; // every event leaves the fields of one status

/** Does what `evolve` does, in place: for an owner that has not shared the call. */
export function advance(call: CallDraft, event: CallEvent): CallDraft {
  // A takeover causes nothing: the next event is caused by the last one before it.
  if (event.type !== 'tool.taken_over') call.lastEventId = event.id;
  switch (event.type) {
    case 'tool.requested':
    case 'runtime.budget_exhausted':
    case 'persistence.failed':
      break;
    case 'tool.decided':
      rule(call, event);
      break;
    case 'tool.taken_over':
      call.takeovers = event.takeover;
      call.takenOverAt = event.at;
      break;
    case 'tool.held':
      hold(call, event);
      break;
    case 'confirmation.decided':
      answer(call, event);
      break;
    case 'confirmation.voted':
      vote(call, event);
      break;
    case 'confirmation.reminded':
      if (call.confirmation !== undefined)
        call.confirmation = { ...call.confirmation, remindedAt: event.dueAt };
      break;
    case 'confirmation.expired':
      expire(call, event);
      break;
    case 'confirmation.withdrawn':
      if (call.confirmation !== undefined)
        call.confirmation = {
          ...questionOf(call.confirmation),
          ...undecided,
          status: 'withdrawn',
          reason: event.reason,
        };
      break;
    case 'tool.previewed':
      call.preview = event;
      break;
    case 'tool.reported':
      if (event.what.type === 'claimed') call.handedTo = event;
      break;
    case 'tool.undone':
      call.undone = event;
      break;
    case 'tool.started':
      start(call, event);
      break;
    case 'tool.responded':
      respond(call, event);
      break;
    case 'retry.requested':
      call.retry = event;
      break;
    case 'tool.late':
      call.late = [...call.late, event];
      break;
    case 'tool.recalled':
      if (event.how === 'cached' && call.settled === undefined) call.copiedFrom = event.fromCallId;
      else call.recalls++;
      break;
    case 'tool.resolved':
      call.resolution = event;
      break;
    default:
      event satisfies never;
  }
  return call;
}

/** Sets only what changes: see `OwnCall`. */
function rule(call: CallDraft, event: ToolDecided): void {
  if (event.effectiveInput !== undefined) call.effectiveInput = event.effectiveInput;
  if (event.inputDigest !== undefined) ruleInput(call, event, event.inputDigest);
  if (event.changes.length > 0) call.wasCoerced = true;
  if (event.policyVersion !== undefined) call.policyVersion = event.policyVersion;
  call.ruling = event.decision;
  if (event.decidedBy !== undefined) call.decidedBy = event.decidedBy;
  if (event.grantId !== undefined) call.grantId = event.grantId;
}

function ruleInput(call: CallDraft, event: ToolDecided, inputDigest: string): void {
  call.inputDigest = inputDigest;
  call.inputForm = event.inputForm;
  if (event.artifacts.length > 0 || call.artifacts.length > 0) call.artifacts = event.artifacts;
  if (event.acceptedInput !== undefined) call.acceptedInput = event.acceptedInput;
  else if (event.changes.length > 0) call.acceptedInput = event.effectiveInput;
}

const undecided = {
  decision: undefined,
  by: undefined,
  reason: undefined,
  response: undefined,
  decidedAt: undefined,
} as const;

function hold(call: CallDraft, event: ToolHeld): void {
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
    judgedDigest: event.inputDigest,
    votes: none,
    fallen: none,
    remindedAt: undefined,
    status: 'pending',
    ...undecided,
  };
}

/** The question without its answer. */
const questionOf = (confirmation: Confirmation): Question => confirmation;

function answer(call: CallDraft, event: ConfirmationDecided): void {
  const { decision } = event;
  call.takeovers = 0;
  if (decision === 'approve' || decision === 'edit') call.status = 'approved';
  // A denial that was received in time overrides the expiry.
  else if (call.status === 'approved') call.status = 'held';
  call.decidedBy = event.by;
  edit(call, event);
  const asked = call.confirmation;
  if (asked === undefined) return;
  const counted = withoutFallen(asked, event.fallen);
  const votes =
    decision === 'respond' ? counted.votes : withVote(counted.votes, voteOf({ ...event, decision }));
  call.confirmation = { ...questionOf(counted), ...answerOf(event), votes };
}

/** The question stays open. After an edit it is about the new input, and only the editor has approved that. */
function vote(call: CallDraft, event: ConfirmationVoted): void {
  call.takeovers = 0;
  edit(call, event);
  const asked = call.confirmation;
  if (asked === undefined) return;
  const counted = withoutFallen(asked, event.fallen);
  const votes = withVote(counted.votes, voteOf(event));
  call.confirmation = {
    ...counted,
    votes,
    // A preview was made for the input before the edit.
    ...(event.editedDigest !== undefined && { inputDigest: event.editedDigest, revision: undefined }),
  };
}

type Voting = Pick<ConfirmationVoted, 'decision' | 'by' | 'at' | 'reason' | 'session'>;

const voteOf = ({ decision, by, at, reason, session }: Voting): Vote => ({
  decision,
  by,
  at,
  reason,
  ...(session !== undefined && { session }),
});

function edit(call: CallDraft, event: ConfirmationDecided | ConfirmationVoted): void {
  if (event.editedDigest === undefined) return;
  call.effectiveInput = event.editedInput;
  call.inputDigest = event.editedDigest;
  call.hidden = event.editedHidden;
  call.inputForm = event.editedForm;
  call.acceptedInput = event.editedAccepted ?? event.editedInput;
  call.artifacts = event.editedArtifacts;
  call.wasEdited = true;
}

function answerOf({ decision, by, reason, response, at: decidedAt }: ConfirmationDecided): Answer {
  switch (decision) {
    case 'approve':
    case 'edit':
      return { status: 'approved', decision, by, reason, response: undefined, decidedAt };
    case 'deny':
      return { status: 'denied', decision, by, reason, response: undefined, decidedAt };
    case 'respond':
      return { status: 'answered', decision, by, reason, response: response ?? '', decidedAt };
  }
}

function expire(call: CallDraft, { effect, by, at: decidedAt }: ConfirmationExpired): void {
  call.takeovers = 0;
  // An approval that was not used in time no longer allows a run.
  call.status = effect === 'allow' ? 'approved' : 'held';
  call.decidedBy = by ?? call.decidedBy;
  const asked = call.confirmation;
  if (asked === undefined) return;
  const status = effect === 'allow' ? 'approved' : 'expired';
  const decision = asked.decision === 'approve' || asked.decision === 'edit' ? asked.decision : undefined;
  const { reason } = asked;
  call.confirmation = { ...questionOf(asked), status, decision, by, reason, response: undefined, decidedAt };
}

function start(call: CallDraft, event: ToolStarted): void {
  call.status = 'running';
  call.attempt = event.attempt;
  call.attemptsWithoutEnd++;
  // The process that took the call over started this attempt: one process, counted once.
  if (call.takeovers > 0) call.takeovers--;
  call.started = event;
  if (call.failed !== undefined) call.failed = undefined;
  if (call.retry !== undefined) call.retry = undefined;
}

function respond(call: CallDraft, event: ToolResponded): void {
  if (!event.final) {
    call.failed = event;
    call.attemptsWithoutEnd = 0;
    call.takeovers = 0;
    call.spentMicros += event.costMicros;
    return;
  }
  call.status = 'settled';
  call.settled = event;
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
  hiddenIds: event.hiddenIds ?? none,
  traceparent: event.traceparent,
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
