/**
 * Every rule about what may happen to a call:
 *
 * 1. A call begins once, with its request.
 * 2. Nothing starts while a question is open, nor after a person or a gate denied the call.
 * 3. An attempt starts only after every earlier one has ended, or when the call is rerun.
 * 4. There is one final outcome. A denial means that the body never ran; a result means that it did.
 * 5. A failed attempt is followed by another only if a behavior requested it.
 * 6. A call runs only with the approvals of distinct people that the rules which asked need.
 * 7. After the outcome only late results, recalls and resolutions may follow, and none changes it.
 */
import { describeDecider } from './describe-identity.ts';
import type { Call } from './call.ts';
import type { Command, EventDraft } from './command.ts';
import { isHandoff, takenBy } from './handoff.ts';
import type { ToolReported } from './event.ts';
import type { ToolOutcome } from './outcome.ts';
import { denialsNeeded, hasPolicy, isFallen, isQuorumComplete, withoutFallen } from './quorum.ts';
import { completes, whyNotApprover } from './why-not-approver.ts';

/** Why a command is illegal, or undefined if it is legal. */
export function refuse(
  call: Call | undefined,
  command: Command | EventDraft,
  at: number,
): string | undefined {
  if (command.type === 'request' || command.type === 'tool.requested')
    return call && 'This call was requested already.';
  if (call === undefined) return 'This call was never requested.';
  const settled = call.status === 'settled';
  switch (command.type) {
    case 'rule':
    case 'tool.decided':
      if (settled) return 'The call has its outcome; no gate can change it.';
      if (call.status === 'running') return 'The body is running; it is too late for a gate.';
      if (command.grantId !== undefined && command.decision !== 'allow')
        return 'A grant lets a call through or has nothing to do with it.';
      return undefined;
    case 'exhaust':
      return settled || call.status === 'running'
        ? 'A budget is spent before the body runs or not at all.'
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
    case 'tool.started':
      if (settled) return 'The call has its outcome; its body may not run.';
      if (call.status === 'held') return 'The call is held for a person; its body may not run.';
      if (call.ruling !== 'allow') return 'The gates have not let the call through; its body may not run.';
      if (lacksQuorum(call)) return 'The rules need more approvals than the call has; its body may not run.';
      if (call.copiedFrom !== undefined)
        return 'The call is answered by another of the same key; its body may not run.';
      if (call.failed !== undefined && call.retry === undefined)
        return 'The attempt has failed, and no retry was requested.';
      return undefined;
    case 'respond':
    case 'tool.responded':
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
  if (call.failed === undefined)
    return 'No attempt of the call has failed, so there is nothing to try again.';
  if (call.failed.id !== forEvent) return 'That is not how the last attempt of the call ended.';
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
    return 'A vote that was never given cannot fall.';
  if (command.by.name === '') return 'A decision needs the name of the person who made it.';
  if (command.decision !== 'deny' && command.by.type !== 'person')
    return `Only a person can ${command.decision}.`;
  if ((command.decision === 'edit') !== (command.editedDigest !== undefined))
    return 'An edit, and nothing else, comes with other arguments.';
  if (command.type === 'answer' && (command.decision === 'respond') !== (command.response !== undefined))
    return 'A response, and nothing else, comes with a text.';
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
  return `The decision of ${command.by.name} does not complete what the rules need.`;
}

/** An act that does not end the question. One that does is a decision. */
function refuseVote(call: Call, command: Command & { type: 'vote' }, at: number): string | undefined {
  const refusal = refuseAnswer(call, command);
  if (refusal !== undefined || call.confirmation === undefined) return refusal;
  const asked = withoutFallen(call.confirmation, command.fallen);
  if (!hasPolicy(asked.asks)) return 'No rule asks for several people; one decision is enough.';
  const why = whyNotApprover(asked, command, at);
  if (why !== undefined) return `${command.by.name} does not count: ${why}.`;
  return completes(asked, command, at) ? 'This act decides the question; it is a decision.' : undefined;
}

/** Did people approve the call whose approvals do not satisfy the rules that asked? */
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
 * Does this denial still count although the question expired and the rule lets the call run? It does if it
 * was received before the expiry and no attempt has started. The intent and the denial append to the same
 * version of the call, so exactly one of them is stored.
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
  if (call.status !== 'held' && call.status !== 'approved') return 'The call is past being asked about.';
  if (asked.expiresAt === undefined) return 'This question never expires.';
  if (command.effect === 'allow' && hasPolicy(asked.asks))
    return 'The rules need people; no time replaces them.';
  if (command.effect === 'allow' && (asked.timeoutEffect !== 'allow' || asked.status !== 'pending'))
    return 'No rule lets this call run when the time is up.';
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
  if (call.attempt === 0) return 'Nothing was handed over yet.';
  const settled = call.status === 'settled';
  switch (what.type) {
    case 'claimed':
      if (!isHandoff(call) || attempt !== call.attempt)
        return 'Only a call that was handed over can be claimed.';
      return refuseSecondClaim(takenBy(call), what, worker);
    case 'given':
      return settled || takenBy(call)?.attempt === attempt
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
  if (call.status === 'settled') return 'The call has its outcome; there is never a second.';
  if (outcome.callId !== call.callId) return 'The outcome is that of another call.';
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
