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
export function evolve(call: Call | undefined, event: CallEvent): Call {
  if (call === undefined) return begin(event);
  // A takeover is not the cause of the next event: the last event before it is.
  const lastEventId = event.type === 'tool.taken_over' ? call.lastEventId : event.id;
  return { ...call, lastEventId, ...changesBy(event, call) } as Call; // every event leaves the fields of one status
}

/** Folds a call from its events. */
export function foldCall(events: Iterable<CallEvent>, from?: Call): Call | undefined {
  let call = from;
  for (const event of events) call = evolve(call, event);
  return call;
}

/** The fields that an event changes. */
type Changes = { readonly [Key in keyof CallFacts]?: CallFacts[Key] } & {
  readonly [Key in keyof CallState]?: CallState[Key];
};

const nothing: Changes = {};

function changesBy(event: CallEvent, call: Call): Changes {
  switch (event.type) {
    case 'tool.requested':
    case 'runtime.budget_exhausted':
    case 'persistence.failed':
      return nothing;
    case 'tool.decided':
      return rule(call, event);
    case 'tool.taken_over':
      return { takeovers: event.takeover, takenOverAt: event.at };
    case 'tool.held':
      return hold(event);
    case 'confirmation.decided':
      return answer(call, event);
    case 'confirmation.voted':
      return vote(call, event);
    case 'confirmation.reminded':
      return withQuestion(call, (asked) => ({ ...asked, remindedAt: event.dueAt }));
    case 'confirmation.expired':
      return expire(call, event);
    case 'confirmation.withdrawn':
      return withQuestion(call, (asked) => ({
        ...questionOf(asked),
        ...undecided,
        status: 'withdrawn',
        reason: event.reason,
      }));
    case 'tool.previewed':
      return { preview: event };
    case 'tool.reported':
      return event.what.type === 'claimed' ? { handedTo: event } : nothing;
    case 'tool.undone':
      return { undone: event };
    case 'tool.started':
      return start(call, event);
    case 'tool.responded':
      return respond(call, event);
    case 'retry.requested':
      return { retry: event };
    case 'tool.late':
      return { late: [...call.late, event] };
    case 'tool.recalled':
      return event.how === 'cached' && call.settled === undefined
        ? { copiedFrom: event.fromCallId }
        : { recalls: call.recalls + 1 };
    case 'tool.resolved':
      return { resolution: event };
    default:
      event satisfies never;
      return nothing;
  }
}

const withQuestion = (
  { confirmation }: Call,
  change: (asked: Confirmation) => Confirmation,
): Pick<Changes, 'confirmation'> =>
  confirmation === undefined ? {} : { confirmation: change(confirmation) };

const rule = (call: Call, event: ToolDecided): Changes => ({
  ...(event.effectiveInput !== undefined && { effectiveInput: event.effectiveInput }),
  ...(event.inputDigest !== undefined && {
    inputDigest: event.inputDigest,
    inputForm: event.inputForm,
    artifacts: event.artifacts.length > 0 ? event.artifacts : none,
    acceptedInput:
      event.acceptedInput ?? (event.changes.length > 0 ? event.effectiveInput : call.acceptedInput),
  }),
  ...(event.changes.length > 0 && { wasCoerced: true }),
  ...(event.policyVersion !== undefined && { policyVersion: event.policyVersion }),
  ruling: event.decision,
  ...(event.decidedBy !== undefined && { decidedBy: event.decidedBy }),
  ...(event.grantId !== undefined && { grantId: event.grantId }),
  ...(event.comparison !== undefined && { comparison: event.comparison }),
});

const undecided = {
  decision: undefined,
  by: undefined,
  reason: undefined,
  response: undefined,
  decidedAt: undefined,
} as const;

const hold = (event: ToolHeld): Changes => ({
  status: 'held',
  takeovers: 0,
  confirmation: {
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
    supersedes: event.supersedes,
    askedAt: event.at,
    judgedDigest: event.inputDigest,
    votes: none,
    fallen: none,
    remindedAt: undefined,
    status: 'pending',
    ...undecided,
  },
});

/** The question without its answer. */
const questionOf = (confirmation: Confirmation): Question => confirmation;

function answer(call: Call, event: ConfirmationDecided): Changes {
  const { decision } = event;
  const isApproved = decision === 'approve' || decision === 'edit';
  // A denial that was received in time overrides the expiry.
  const status = isApproved ? 'approved' : call.status === 'approved' ? 'held' : call.status;
  return {
    takeovers: 0,
    status,
    decidedBy: event.by,
    ...edit(event),
    ...withQuestion(call, (asked) => {
      const counted = withoutFallen(asked, event.fallen);
      const votes =
        decision === 'respond' ? counted.votes : withVote(counted.votes, voteOf({ ...event, decision }));
      return { ...questionOf(counted), ...answerOf(event), votes };
    }),
  };
}

/** The question stays open. After an edit it is about the new input, and only the editor has approved that. */
const vote = (call: Call, event: ConfirmationVoted): Changes => ({
  takeovers: 0,
  ...edit(event),
  ...withQuestion(call, (asked) => {
    const counted = withoutFallen(asked, event.fallen);
    return {
      ...counted,
      votes: withVote(counted.votes, voteOf(event)),
      // A preview was made for the input before the edit.
      ...(event.editedDigest !== undefined && { inputDigest: event.editedDigest, revision: undefined }),
    };
  }),
});

type Voting = Pick<ConfirmationVoted, 'decision' | 'by' | 'at' | 'reason' | 'session'>;

const voteOf = ({ decision, by, at, reason, session }: Voting): Vote => ({
  decision,
  by,
  at,
  reason,
  ...(session !== undefined && { session }),
});

const edit = (event: ConfirmationDecided | ConfirmationVoted): Changes =>
  event.editedDigest === undefined
    ? nothing
    : {
        effectiveInput: event.editedInput,
        inputDigest: event.editedDigest,
        hidden: event.editedHidden,
        inputForm: event.editedForm,
        acceptedInput: event.editedAccepted ?? event.editedInput,
        artifacts: event.editedArtifacts,
        wasEdited: true,
      };

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

const expire = (call: Call, { effect, by, at: decidedAt }: ConfirmationExpired): Changes => ({
  takeovers: 0,
  // An approval that was not used in time no longer allows a run.
  status: effect === 'allow' ? 'approved' : 'held',
  decidedBy: by ?? call.decidedBy,
  ...withQuestion(call, (asked) => {
    const status = effect === 'allow' ? 'approved' : 'expired';
    const decision = asked.decision === 'approve' || asked.decision === 'edit' ? asked.decision : undefined;
    const { reason } = asked;
    return { ...questionOf(asked), status, decision, by, reason, response: undefined, decidedAt };
  }),
});

const start = (call: Call, event: ToolStarted): Changes => ({
  status: 'running',
  attempt: event.attempt,
  attemptsWithoutEnd: call.attemptsWithoutEnd + 1,
  // The process that took the call over started this attempt, so it is counted once.
  takeovers: Math.max(0, call.takeovers - 1),
  started: event,
  failed: undefined,
  retry: undefined,
});

const respond = (call: Call, event: ToolResponded): Changes =>
  event.final
    ? { status: 'settled', settled: event }
    : {
        failed: event,
        attemptsWithoutEnd: 0,
        takeovers: 0,
        spentMicros: call.spentMicros + event.costMicros,
      };

function begin(event: CallEvent): Call {
  if (event.type !== 'tool.requested')
    throw new TypeError(`A call begins with tool.requested, not with ${event.type}.`);
  return beginWith(event);
}

const none: readonly never[] = Object.freeze([]);

const beginWith = (event: ToolRequested): Call => ({
  sessionId: event.sessionId,
  turnId: event.turnId,
  callId: event.callId,
  toolName: event.toolName,
  displayName: event.displayName,
  mode: event.mode,
  modeOrigin: event.modeOrigin,
  ...(event.risk !== undefined && { risk: event.risk }),
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
  comparison: undefined,
  grantId: undefined,
  handedTo: undefined,
  undone: undefined,
  settled: undefined,
  late: none,
  resolution: undefined,
  recalls: 0,
  lastEventId: event.id,
});
