/** `decide`: a command and a call give an event, unless `refuse` has an objection. Contains every rule about a call. */
import type { Call } from './call.ts';
import { leavesDoubt } from './doubt.ts';
import type { CallEvent, ToolReported } from './event.ts';
import { isUnclaimed, isHandoff, claimedBy } from './call.ts';
import { describeDecider } from './describe-identity.ts';
import type { ToolOutcome } from './outcome.ts';
import { denialsNeeded, hasPolicy, isFallen, isQuorumComplete, withoutFallen } from './quorum.ts';
import { completes, whyNotApprover } from './why-not-approver.ts';
import type { EventDataOf } from './event-data.ts';

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

/** Like `decide`, for the runtime: there a refusal is a mistake of the runtime itself. */
export function decideOrThrow(call: Call | undefined, command: Command, subject: Subject): CallEvent {
  const decided = decide(call, command, subject);
  if (!decided.ok) throw new TypeError(`${command.type} of call ${subject.callId}: ${decided.refusal}`);
  return decided.event;
}

const mayHaveRun = (call: Call | undefined): boolean =>
  call !== undefined && call.attempt > 0 && !isUnclaimed(call);

function toEvent(call: Call | undefined, command: Command, subject: Subject): CallEvent {
  const envelope = {
    id: subject.nextId(),
    sessionId: subject.sessionId,
    turnId: subject.turnId,
    callId: subject.callId,
    at: subject.at,
    cause: call === undefined ? subject.origin : call.lastEventId,
  };
  switch (command.type) {
    case 'request':
      return {
        schemaDigest: undefined,
        traceparent: undefined,
        ...command,
        ...envelope,
        type: 'tool.requested',
      };
    case 'rule':
      return {
        grantId: undefined,
        inputForm: undefined,
        acceptedInput: undefined,
        artifacts: none,
        comparison: undefined,
        ...command,
        ...envelope,
        type: 'tool.decided',
      };
    case 'start':
      return {
        handoff: false,
        stages: none,
        ...command,
        ...envelope,
        type: 'tool.started',
        attempt: attemptOf(call) + 1,
      };
    case 'respond': {
      const { mayRerun, repeatIsSafe, ...end } = command;
      return {
        ...end,
        ...envelope,
        type: 'tool.responded',
        attempt: attemptOf(call),
        unsettledEffect: mayHaveRun(call) && endsInDoubt({ outcome: end.outcome, mayRerun, repeatIsSafe }),
      };
    }
    case 'hold':
      return {
        revision: undefined,
        expiresAt: undefined,
        timeoutEffect: 'block',
        risk: [],
        schemaDigest: undefined,
        comparison: undefined,
        supersedes: undefined,
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

/** The fields of an answer without edited arguments. */
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

/** True if such an end leaves the effect of a body unknown. */
function endsInDoubt({
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

/**
 * Returns why a command is illegal, or undefined if it is legal. Contains every rule about what may happen to a call:
 *
 * 1. A call begins once, with its request.
 * 2. Nothing starts while a question is open, nor after a person or a gate denied the call.
 * 3. An attempt starts only after every earlier one has ended, or when the call is rerun.
 * 4. There is one final outcome. A denial means that the body never ran; a result means that it did.
 * 5. A failed attempt is followed by another only if a behavior requested it.
 * 6. A call runs only with the approvals of distinct people that the asking rules require.
 * 7. After the outcome only late results, recalls and resolutions may follow, and none changes it.
 */
function refuse(call: Call | undefined, command: Command, at: number): string | undefined {
  if (command.type === 'request') return call && 'This call was requested already.';
  if (call === undefined) return 'This call was never requested.';
  const settled = call.status === 'settled';
  switch (command.type) {
    case 'rule':
      if (settled) return 'The call has its outcome; no gate can change it.';
      if (call.status === 'running') return 'The body is running; it is too late for a gate.';
      if (command.grantId !== undefined && command.decision !== 'allow')
        return 'A grant can only allow a call.';
      return undefined;
    case 'exhaust':
      return settled || call.status === 'running'
        ? 'A budget cannot be exhausted after the body has started.'
        : undefined;
    case 'hold':
      if (settled) return 'The call already has its outcome.';
      if (call.status === 'running') return 'The body is running; it is too late to ask.';
      if (call.status === 'held') return 'The call is held already.';
      return undefined;
    case 'answer':
      return refuseAnswer(call, command) ?? refuseAlone(call, command, at);
    case 'vote':
      return refuseVote(call, command, at);
    case 'remind':
      return refuseReminder(call, command, at);
    case 'preview':
      if (settled) return 'The call has its outcome; there is nothing to preview.';
      return call.status === 'requested' || call.status === 'approved'
        ? undefined
        : 'A held or running call gets no more previews.';
    case 'expire':
      return refuseExpiry(call, command);
    case 'report':
      return refuseReport(call, command);
    case 'undo':
      return refuseUndo(call);
    case 'withdraw':
      return call.confirmation?.status === 'pending' &&
        call.confirmation.confirmationId === command.confirmationId
        ? undefined
        : 'There is no such question to withdraw.';
    case 'take_over':
      return settled ? 'The call has its outcome; there is nothing to take over.' : undefined;
    case 'start':
      if (settled) return 'The call has its outcome; its body may not run.';
      if (call.status === 'held') return 'The call is held for a person; its body may not run.';
      if (call.ruling !== 'allow') return 'The gates have not let the call through; its body may not run.';
      if (lacksQuorum(call)) return 'The rules need more approvals than the call has; its body may not run.';
      if (call.copiedFrom !== undefined)
        return 'Another call with the same key answers the call; its body may not run.';
      if (call.failed !== undefined && call.retry === undefined)
        return 'The attempt has failed, and no retry was requested.';
      return undefined;
    case 'respond':
      if (!command.final && call.failed !== undefined) return 'The attempt has ended already.';
      return refuseOutcome(call, command.outcome, command.final);
    case 'try_again':
      return refuseRetry(call, command);
    case 'add_late':
      if (call.attempt === 0) return 'Nothing can be late: the body never ran.';
      return settled || command.attempt < call.attempt || call.failed !== undefined
        ? undefined
        : 'The attempt has not ended yet, so its result is not late.';
    case 'resolve':
      return refuseResolution(call);
    case 'fail_to_persist':
      return undefined;
    case 'recall':
      return refuseRecall(call, command.how);
  }
}

function refuseRetry(call: Call, { forEvent, attempt }: Command & { type: 'try_again' }): string | undefined {
  if (call.status === 'settled') return 'The call has its outcome; it is not tried again.';
  if (call.failed === undefined) return 'No attempt of the call has failed, so there is nothing to retry.';
  if (call.failed.id !== forEvent) return 'The event is not the end of the last attempt.';
  if (call.retry !== undefined) return `It is tried again already, as ${call.retry.by} asked.`;
  return attempt === call.attempt + 1 ? undefined : `The next attempt is number ${call.attempt + 1}.`;
}

function refuseResolution({ settled, resolution }: Call): string | undefined {
  if (settled === undefined) return 'The call has no outcome yet, so there is nothing to resolve.';
  if (!settled.unsettledEffect) return 'How the call ended is known; there is nothing to resolve.';
  if (resolution === undefined) return undefined;
  return `This was resolved already, as ${resolution.resolution}, by ${describeDecider(resolution.by)}.`;
}

function refuseRecall(call: Call, how: 'cached' | 'replayed' | 'conflict'): string | undefined {
  switch (how) {
    case 'conflict':
      return undefined;
    case 'replayed':
      return call.status === 'settled' && call.attempt > 0
        ? undefined
        : 'Only a result that was reported can be replayed.';
    case 'cached':
      if (call.status === 'settled') return undefined;
      return call.attempt === 0 && call.status !== 'held'
        ? undefined
        : 'Only a settled call can be recalled.';
  }
}

function refuseAnswer(call: Call, command: Command & { type: 'answer' | 'vote' }): string | undefined {
  const asked = call.confirmation;
  if (asked === undefined || asked.confirmationId !== command.confirmationId)
    return 'This call does not ask that.';
  const isOpen = asked.status === 'pending' && call.status === 'held';
  if (!isOpen && !(command.type === 'answer' && mayStillDeny(call, command)))
    return `This was ${asked.status} already${asked.by ? ` by ${describeDecider(asked.by)}` : ''}.`;
  if (asked.inputDigest !== command.inputDigest)
    return 'The decision is about another input than the one that is held.';
  if (asked.revision !== command.revision)
    return 'The decision is about another revision of the preview than the one that is shown.';
  const { votes } = asked;
  if (command.fallen?.some((fallen) => !votes.some((vote) => isFallen(vote, fallen))) === true)
    return 'A void vote is not among the votes.';
  if (command.by.name === '') return 'A decision needs the name of the person who made it.';
  if (command.decision !== 'deny' && command.by.type !== 'person')
    return `Only a person can ${command.decision}.`;
  if ((command.decision === 'edit') !== (command.editedDigest !== undefined))
    return 'Edited arguments are required for an edit and not allowed otherwise.';
  if (command.type === 'answer' && (command.decision === 'respond') !== (command.response !== undefined))
    return 'A response text is required for a response and not allowed otherwise.';
  return undefined;
}

/** A decision ends the question, so its person must be an approver, and with them the quorum must be complete. */
function refuseAlone(call: Call, command: Command & { type: 'answer' }, at: number): string | undefined {
  const { confirmation } = call;
  if (confirmation === undefined || !hasPolicy(confirmation.asks) || command.by.type !== 'person')
    return undefined;
  const asked = withoutFallen(confirmation, command.fallen);
  const why = whyNotApprover(asked, command, at);
  if (why !== undefined) return `${command.by.name} does not count: ${why}.`;
  const { decision } = command;
  if (decision === 'respond')
    return denialsNeeded(asked.asks) > 1 ? 'One person alone cannot end this question.' : undefined;
  if (completes(asked, { ...command, decision }, at)) return undefined;
  return `The decision of ${command.by.name} does not complete the required approvals.`;
}

/** A vote must not end the question. One that does is a decision. */
function refuseVote(call: Call, command: Command & { type: 'vote' }, at: number): string | undefined {
  const refusal = refuseAnswer(call, command);
  if (refusal !== undefined || call.confirmation === undefined) return refusal;
  const asked = withoutFallen(call.confirmation, command.fallen);
  if (!hasPolicy(asked.asks)) return 'No rule asks for several people; one decision is enough.';
  const why = whyNotApprover(asked, command, at);
  if (why !== undefined) return `${command.by.name} does not count: ${why}.`;
  return completes(asked, command, at)
    ? 'This vote decides the question, so it must be a decision.'
    : undefined;
}

/** True if people approved the call, but their approvals do not satisfy the rules that asked. */
const lacksQuorum = ({ confirmation }: Call): boolean =>
  confirmation !== undefined &&
  confirmation.decision !== undefined &&
  !isQuorumComplete(confirmation, confirmation.votes);

function refuseReminder(call: Call, command: Command & { type: 'remind' }, at: number): string | undefined {
  const asked = call.confirmation;
  if (asked?.confirmationId !== command.confirmationId || asked.status !== 'pending')
    return 'There is no such open question.';
  if (command.dueAt > at) return 'The reminder is not due yet.';
  return asked.remindedAt !== undefined && command.dueAt <= asked.remindedAt
    ? 'The reminder was recorded already.'
    : undefined;
}

/**
 * True if this denial still counts although its question expired and a rule then lets the call run. It counts if it was
 * received before the expiry and no attempt has started. The intent and the denial append to the same version of the
 * call, so exactly one of them is stored.
 */
export function mayStillDeny(
  { confirmation, status, attempt, copiedFrom, settled }: Call,
  { decision, receivedAt }: Pick<Command & { type: 'answer' }, 'decision' | 'receivedAt'>,
): boolean {
  if (decision !== 'deny' || receivedAt === undefined || confirmation?.expiresAt === undefined) return false;
  const isAllowedByExpiry = confirmation.status === 'approved' && confirmation.decision === undefined;
  const isBeforeIntent = status === 'approved' && attempt === 0 && copiedFrom === undefined;
  return isAllowedByExpiry && isBeforeIntent && settled === undefined && receivedAt < confirmation.expiresAt;
}

/** An approval that was not used in time expires like an unanswered question. */
function refuseExpiry(call: Call, command: Command & { type: 'expire' }): string | undefined {
  const asked = call.confirmation;
  if (asked?.confirmationId !== command.confirmationId) return 'This call does not ask that.';
  if (call.status !== 'held' && call.status !== 'approved') return 'The call is neither held nor approved.';
  if (asked.expiresAt === undefined) return 'This question never expires.';
  if (command.effect === 'allow' && hasPolicy(asked.asks))
    return 'The rules need approvals by people, so the question cannot expire with an approval.';
  if (command.effect === 'allow' && (asked.timeoutEffect !== 'allow' || asked.status !== 'pending'))
    return 'No rule lets this call run after the expiry.';
  return undefined;
}

function refuseUndo({ status, settled, undone, resolution }: Call): string | undefined {
  if (status !== 'settled' || settled === undefined)
    return 'The call has not ended, so there is nothing to undo.';
  const { type } = settled.outcome;
  const succeeded = type === 'ToolExecutionResult' || type === 'ToolArtifactReference';
  if (!succeeded && resolution?.resolution !== 'succeeded')
    return 'The call did not succeed, so there is nothing to undo.';
  return undone === undefined ? undefined : `This was undone already, by ${describeDecider(undone.by)}.`;
}

/** An attempt belongs to one worker, and only that worker reports its end. */
function refuseReport(
  call: Call,
  { what, attempt, worker }: Command & { type: 'report' },
): string | undefined {
  if (call.attempt === 0) return 'The call was not handed off yet.';
  const settled = call.status === 'settled';
  switch (what.type) {
    case 'claimed':
      if (!isHandoff(call) || attempt !== call.attempt) return 'Only a hand-off can be claimed.';
      return refuseSecondClaim(claimedBy(call), what, worker);
    case 'given':
      return settled || claimedBy(call)?.attempt === attempt
        ? undefined
        : 'Only the worker that claimed the call can report its end.';
    case 'differs':
      return settled ? undefined : 'Nothing was reported yet.';
  }
}

/** Only the worker that has the call may claim it again, and only by naming its current claim. */
function refuseSecondClaim(
  taken: ToolReported | undefined,
  { replaces }: ToolReported['what'] & { type: 'claimed' },
  worker: string,
): string | undefined {
  if (taken === undefined) return replaces === undefined ? undefined : 'There is no claim to replace.';
  const isSame = taken.what.type === 'claimed' && taken.what.tokenDigest === replaces;
  return isSame && taken.worker === worker ? undefined : `${taken.worker} has claimed it.`;
}

/** The failures that a call may end with although its body never ran. */
const bodylessFailures: ReadonlySet<string> = new Set([
  'tool.unknown',
  'tool.cancelled',
  'tool.fixture_missing',
  'ledger.altered',
]);

function refuseOutcome(call: Call, outcome: ToolOutcome, final: boolean): string | undefined {
  if (call.status === 'settled') return 'The call already has its outcome.';
  if (outcome.callId !== call.callId) return 'The outcome belongs to another call.';
  if (call.confirmation?.status === 'pending')
    return 'The call is held for a person; answer or withdraw the question first.';
  const ran = call.attempt > 0;
  if (!final && !ran) return 'Only an attempt can end without settling its call.';
  switch (outcome.type) {
    case 'ToolDenied':
      return ran ? 'The body ran, so the call can no longer be denied.' : undefined;
    case 'ToolFailure':
      return ran || call.copiedFrom !== undefined || bodylessFailures.has(outcome.code)
        ? undefined
        : `The body never ran, so the call cannot end with ${outcome.code}.`;
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
    case 'ToolTimeout':
      return ran || call.copiedFrom !== undefined ? undefined : 'The body never ran, so there is no result.';
  }
}

/** The commands for a call. The runtime collects the facts; `decide` checks whether they are legal. */
export type Command =
  | ({ readonly type: 'request' } & MaySay<'tool.requested', 'schemaDigest' | 'traceparent'>)
  | ({ readonly type: 'rule' } & MaySay<
      'tool.decided',
      'grantId' | 'inputForm' | 'acceptedInput' | 'artifacts' | 'comparison'
    >)
  | ({ readonly type: 'hold' } & MaySay<
      'tool.held',
      'revision' | 'expiresAt' | 'timeoutEffect' | 'risk' | 'schemaDigest' | 'comparison' | 'supersedes'
    >)
  | ({ readonly type: 'answer' } & MaySay<
      'confirmation.decided',
      | 'revision'
      | 'editedInput'
      | 'editedDigest'
      | 'editedHidden'
      | 'editedForm'
      | 'editedAccepted'
      | 'editedArtifacts'
      | 'response'
      | 'receivedAt'
    >)
  | ({ readonly type: 'vote' } & MaySay<
      'confirmation.voted',
      | 'revision'
      | 'editedInput'
      | 'editedDigest'
      | 'editedHidden'
      | 'editedForm'
      | 'editedAccepted'
      | 'editedArtifacts'
    >)
  | ({ readonly type: 'remind' } & EventDataOf<'confirmation.reminded'>)
  | ({ readonly type: 'preview' } & EventDataOf<'tool.previewed'>)
  | ({ readonly type: 'expire' } & EventDataOf<'confirmation.expired'>)
  | ({ readonly type: 'report' } & EventDataOf<'tool.reported'>)
  | ({ readonly type: 'undo' } & EventDataOf<'tool.undone'>)
  | ({ readonly type: 'withdraw' } & EventDataOf<'confirmation.withdrawn'>)
  | ({ readonly type: 'try_again' } & Pick<
      EventDataOf<'retry.requested'>,
      'notBefore' | 'by' | 'attempt' | 'forEvent'
    >)
  | ({ readonly type: 'exhaust' } & EventDataOf<'runtime.budget_exhausted'>)
  | ({ readonly type: 'take_over' } & Omit<EventDataOf<'tool.taken_over'>, 'takeover'>)
  | ({ readonly type: 'start' } & Omit<MaySay<'tool.started', 'handoff' | 'stages'>, 'attempt'>)
  | ({ readonly type: 'respond'; readonly mayRerun: boolean; readonly repeatIsSafe: boolean } & Omit<
      EventDataOf<'tool.responded'>,
      'attempt' | 'unsettledEffect'
    >)
  | ({ readonly type: 'add_late' } & EventDataOf<'tool.late'>)
  | ({ readonly type: 'resolve' } & EventDataOf<'tool.resolved'>)
  | ({ readonly type: 'fail_to_persist' } & MaySay<'persistence.failed', 'result'>)
  | ({ readonly type: 'recall' } & EventDataOf<'tool.recalled'>);

/** The data of an event, with some fields optional. */
type MaySay<Type extends CallEvent['type'], Names extends keyof EventDataOf<Type>> = Omit<
  EventDataOf<Type>,
  Names
> &
  Partial<Pick<EventDataOf<Type>, Names>>;

/**
 * The effect of an end on counters of failures, by the success check. An end that is not known to be a success counts as a
 * failure. A cancelled call does not count.
 */
export function countedEnd(
  outcome: ToolOutcome,
  toolSuccess: boolean | undefined,
): 'succeeded' | 'failed' | undefined {
  if (toolSuccess === true) return 'succeeded';
  return outcome.type === 'ToolFailure' && outcome.code === 'tool.cancelled' ? undefined : 'failed';
}
