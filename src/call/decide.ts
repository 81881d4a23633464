/** A command and a call give events, unless `refuse` has an objection. */
import type { Call } from './call.ts';
import type { Command, EventDraft } from './command.ts';
import { leavesDoubt } from './doubt.ts';
import type { CallEvent, ToolDecided, ToolRequested, ToolResponded, ToolStarted } from './event.ts';
import { isUntaken } from './handoff.ts';
import { refuse } from './refuse.ts';

/** The call that the events are about, and the source of their ids and time. */
export type Subject = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly at: number;
  readonly nextId: () => string;
  /** The event that caused the call itself, if any. */
  readonly origin?: string | undefined;
};

export type DecideResult =
  | { readonly ok: true; readonly event: CallEvent }
  | { readonly ok: false; readonly refusal: string };

export function decide(call: Call | undefined, command: Command, subject: Subject): DecideResult {
  const refusal = refuse(call, command, subject.at);
  if (refusal !== undefined) return { ok: false, refusal };
  return { ok: true, event: toEvent(call, command, subject) };
}

/**
 * Like `decide`, for the runtime: there a refusal is a mistake of the runtime itself. A draft becomes its event, so it
 * may be used once.
 */
export function decideOrThrow(
  call: Call | undefined,
  command: Command | EventDraft,
  subject: Subject,
): CallEvent {
  const refusal = refuse(call, command, subject.at);
  if (refusal !== undefined) throw new TypeError(`${command.type} of call ${subject.callId}: ${refusal}`);
  return isDraft(command) ? complete(call, command, subject) : toEvent(call, command, subject);
}

const isDraft = (command: Command | EventDraft): command is EventDraft =>
  command.type === 'tool.requested' ||
  command.type === 'tool.decided' ||
  command.type === 'tool.started' ||
  command.type === 'tool.responded';

function complete(call: Call | undefined, draft: EventDraft, subject: Subject): CallEvent {
  draft.id = subject.nextId();
  draft.sessionId = subject.sessionId;
  draft.turnId = subject.turnId;
  draft.callId = subject.callId;
  draft.at = subject.at;
  draft.cause = causeOf(call, subject);
  if (draft.type === 'tool.started') draft.attempt = attemptOf(call) + 1;
  else if (draft.type === 'tool.responded') {
    draft.attempt = attemptOf(call);
    draft.unsettledEffect &&= mayHaveRun(call);
  }
  return draft;
}

/** The four events of every call are written out for speed. */
function toEvent(call: Call | undefined, command: Command, subject: Subject): CallEvent {
  if (command.type === 'request') return toRequested(call, command, subject);
  if (command.type === 'rule') return toDecided(call, command, subject);
  if (command.type === 'start') return toStarted(call, command, subject);
  if (command.type === 'respond') return toResponded(call, command, subject);
  return toRareEvent(call, command, toEnvelope(call, subject));
}

const causeOf = (call: Call | undefined, { origin }: Subject): string | undefined =>
  call === undefined ? origin : call.lastEventId;

function toRequested(
  call: Call | undefined,
  command: Command & { type: 'request' },
  subject: Subject,
): ToolRequested {
  const event: ToolRequested = {
    id: subject.nextId(),
    type: 'tool.requested',
    sessionId: subject.sessionId,
    turnId: subject.turnId,
    callId: subject.callId,
    at: subject.at,
    cause: causeOf(call, subject),
    toolName: command.toolName,
    displayName: command.displayName,
    mode: command.mode,
    modeOrigin: command.modeOrigin,
    requestedInput: command.requestedInput,
    hidden: command.hidden,
    requestDigest: command.requestDigest,
    principal: command.principal,
    provenance: command.provenance,
    attrs: command.attrs,
    submitted: command.submitted,
    schemaDigest: command.schemaDigest,
    traceparent: command.traceparent,
  };
  const { askedBy, separateDuties, hiddenIds, budgets, turnDeadlineMs } = command;
  return {
    ...event,
    ...(askedBy !== undefined && { askedBy }),
    ...(separateDuties !== undefined && { separateDuties }),
    ...(hiddenIds !== undefined && { hiddenIds }),
    ...(budgets !== undefined && { budgets }),
    ...(turnDeadlineMs !== undefined && { turnDeadlineMs }),
  };
}

const toDecided = (
  call: Call | undefined,
  command: Command & { type: 'rule' },
  subject: Subject,
): ToolDecided => ({
  id: subject.nextId(),
  type: 'tool.decided',
  sessionId: subject.sessionId,
  turnId: subject.turnId,
  callId: subject.callId,
  at: subject.at,
  cause: causeOf(call, subject),
  decision: command.decision,
  gates: command.gates,
  decidedBy: command.decidedBy,
  policyVersion: command.policyVersion,
  effectiveInput: command.effectiveInput,
  inputDigest: command.inputDigest,
  inputForm: command.inputForm,
  acceptedInput: command.acceptedInput,
  artifacts: command.artifacts ?? none,
  changes: command.changes,
  rules: command.rules,
  grantId: command.grantId,
  sideEffect: command.sideEffect,
});

const toStarted = (
  call: Call | undefined,
  command: Command & { type: 'start' },
  subject: Subject,
): ToolStarted => ({
  id: subject.nextId(),
  type: 'tool.started',
  sessionId: subject.sessionId,
  turnId: subject.turnId,
  callId: subject.callId,
  at: subject.at,
  cause: causeOf(call, subject),
  attempt: attemptOf(call) + 1,
  idempotencyKey: command.idempotencyKey,
  deadlineMs: command.deadlineMs,
  mayRerun: command.mayRerun,
  handoff: command.handoff ?? false,
  stages: command.stages ?? none,
  reserved: command.reserved,
});

const toResponded = (
  call: Call | undefined,
  command: Command & { type: 'respond' },
  subject: Subject,
): ToolResponded => ({
  id: subject.nextId(),
  type: 'tool.responded',
  sessionId: subject.sessionId,
  turnId: subject.turnId,
  callId: subject.callId,
  at: subject.at,
  cause: causeOf(call, subject),
  attempt: attemptOf(call),
  final: command.final,
  outcome: command.outcome,
  content: command.content,
  toolSuccess: command.toolSuccess,
  error: command.error,
  payloadExtras: command.payloadExtras,
  costMicros: command.costMicros,
  reached: command.reached,
  log: command.log,
  unsettledEffect: mayHaveRun(call) && endsInDoubt(command),
  rules: command.rules,
});

const mayHaveRun = (call: Call | undefined): boolean =>
  call !== undefined && call.attempt > 0 && !isUntaken(call);

type Envelope = Pick<CallEvent, 'id' | 'sessionId' | 'turnId' | 'callId' | 'at' | 'cause'>;

const toEnvelope = (call: Call | undefined, subject: Subject): Envelope => ({
  id: subject.nextId(),
  sessionId: subject.sessionId,
  turnId: subject.turnId,
  callId: subject.callId,
  at: subject.at,
  cause: causeOf(call, subject),
});

type RareCommand = Exclude<Command, { type: 'request' | 'rule' | 'start' | 'respond' }>;

function toRareEvent(call: Call | undefined, command: RareCommand, envelope: Envelope): CallEvent {
  switch (command.type) {
    case 'hold':
      return {
        revision: undefined,
        expiresAt: undefined,
        timeoutEffect: 'block',
        risk: [],
        schemaDigest: undefined,
        comparison: undefined,
        ...command,
        ...envelope,
        type: 'tool.held',
      };
    case 'preview':
      return { ...command, ...envelope, type: 'tool.previewed' };
    case 'take_over':
      return {
        previousOwner: command.previousOwner,
        takeover: takeoversBefore(call, envelope.at) + 1,
        ...envelope,
        type: 'tool.taken_over',
      };
    case 'expire':
      return { ...command, ...envelope, type: 'confirmation.expired' };
    case 'report':
      return { ...command, ...envelope, type: 'tool.reported' };
    case 'undo':
      return { ...command, ...envelope, type: 'tool.undone' };
    case 'answer':
      return {
        ...unedited,
        response: undefined,
        receivedAt: undefined,
        ...command,
        ...envelope,
        type: 'confirmation.decided',
      };
    case 'vote':
      return { ...unedited, ...command, ...envelope, type: 'confirmation.voted' };
    case 'remind':
      return { ...command, ...envelope, type: 'confirmation.reminded' };
    case 'withdraw':
      return { ...command, ...envelope, type: 'confirmation.withdrawn' };
    case 'try_again':
      return {
        ...command,
        forCallId: envelope.callId,
        behavior: undefined,
        ...envelope,
        type: 'retry.requested',
      };
    case 'exhaust':
      return { ...command, ...envelope, type: 'runtime.budget_exhausted' };
    case 'add_late':
      return { ...command, ...envelope, type: 'tool.late' };
    case 'resolve':
      return { ...command, ...envelope, type: 'tool.resolved' };
    case 'fail_to_persist':
      return {
        result: undefined,
        ...command,
        ...envelope,
        type: 'persistence.failed',
      };
    case 'recall':
      return { ...command, ...envelope, type: 'tool.recalled' };
  }
}

const none: readonly never[] = Object.freeze([]);

/** An answer without other arguments and without a preview. */
const unedited = Object.freeze({
  revision: undefined,
  editedInput: undefined,
  editedDigest: undefined,
  editedHidden: none,
  editedForm: undefined,
  editedAccepted: undefined,
  editedArtifacts: none,
});

const attemptOf = (call: Call | undefined): number => call?.attempt ?? 0;

/**
 * A call that waits for a person or for its next attempt survives many restarts. Only restarts in quick
 * succession suggest a call that ends its processes. So an old takeover of such a call does not count.
 */
function takeoversBefore(call: Call | undefined, at: number): number {
  if (call?.takenOverAt === undefined) return 0;
  const waits = call.status === 'held' || call.failed !== undefined;
  return waits && at - call.takenOverAt > crashLoopMs ? 0 : call.takeovers;
}

const crashLoopMs = 3_600_000;

/** Does such an end leave the effect of a body that ran in doubt? */
export function endsInDoubt({
  outcome,
  mayRerun,
  repeatIsSafe,
}: Pick<Command & { type: 'respond' }, 'outcome' | 'mayRerun' | 'repeatIsSafe'>): boolean {
  switch (outcome.type) {
    case 'ToolTimeout':
    case 'ToolFailure':
      return leavesDoubt({ code: outcome.code, mayRerun, repeatIsSafe });
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
    case 'ToolDenied':
      return false;
  }
}
