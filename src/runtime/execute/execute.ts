/**
 * From the last gate to the outcome: a slot, the claim and the intent in one append, the body, the judgement.
 */
import type { ToolOutcome } from '../../call/outcome.ts';
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { EndedCall, JudgedCall, StoppedCall } from '../state/call-stages.ts';
import { recordRuling } from '../gates/record-ruling.ts';
import { clean } from '../input/clean.ts';
import { copyOutcome } from '../settle/copy-outcome.ts';
import { keepTyped } from '../accept/keep-typed.ts';
import { isUsedTooLate, settleExpired } from '../settle/expiry.ts';
import { turnIsOver } from '../gates/deadline.ts';
import type { Stop } from '../state/gate.ts';
import { isStale } from '../state/recall-snapshot.ts';
import { beforeIntent } from '../state/spill.ts';
import { overtaken, settleStopped } from '../settle/settle.ts';
import type { AttemptTerms } from './retry-attempt.ts';
import { cancelStop, waitUnlessEnded } from '../gates/wait-unless-ended.ts';
import { grantIsPast } from '../grants/answer-by-grant.ts';
import { intentOf, needsIntent, reservedBy, stagesOf } from './intent.ts';
import { makeAttempt } from './make-attempt.ts';
import { takeRefusal } from './take-refusal.ts';

/** Under which terms a judged call runs. */
export type Course<Again> = {
  /** A person was asked, so the deadline of the turn no longer bounds the attempt. */
  readonly deadlineLifted: boolean;
  /** What follows if something that the gates went by has changed since. The body has not run. */
  readonly whenMoved: (live: JudgedCall) => Awaitable<Again>;
};

/** Runs a call that has passed the gates. */
export const execute = <Again>(live: JudgedCall, course: Course<Again>): Awaitable<ToolOutcome | Again> =>
  live.manner.awaitStart === undefined
    ? start(live, course)
    : startInOrder(live, live.manner.awaitStart(), course);

async function startInOrder<Again>(
  live: JudgedCall,
  place: Promise<() => void>,
  course: Course<Again>,
): Promise<ToolOutcome | Again> {
  const { telemetry, clock } = live.engine;
  const queuedAtMs = telemetry.isTimed ? clock.monotonicMs() : 0;
  const waited = await waitUnlessEnded(live, place, course.deadlineLifted);
  if (waited.type === 'over') {
    void place.then((leave) => leave());
    return end(live, waited.stop);
  }
  const leave = waited.value;
  if (telemetry.isTimed)
    telemetry.noteTime('queue', clock.monotonicMs() - queuedAtMs + (live.manner.queuedMs ?? 0));
  try {
    return await start(live, course);
  } finally {
    leave();
  }
}

function start<Again>(judged: JudgedCall, course: Course<Again>): Awaitable<ToolOutcome | Again> {
  const { engine, journal } = judged;
  const asked = journal.call?.confirmation;
  // The checks, or the wait for a slot, may have taken longer than the approval was valid.
  if (asked !== undefined && isUsedTooLate(asked, engine.ledger.now())) return settleExpired(judged, asked);
  const stop = lastLook(judged, course.deadlineLifted);
  if (stop !== undefined) return end(judged, stop);
  const undecided = journal.mark();
  return judged.input.form === 'json'
    ? begin(judged, course, undecided)
    : beginTyped(judged, course, undecided);
}

async function beginTyped<Again>(
  judged: JudgedCall,
  course: Course<Again>,
  undecided: number,
): Promise<ToolOutcome | Again> {
  const typed = await keepTyped(judged);
  return typed.type === 'stopped' ? end(judged, typed.stop) : begin(typed.live, course, undecided);
}

/** Records the ruling and the start, stores the intent if the call needs one, and runs the body. */
function begin<Again>(
  live: JudgedCall,
  course: Course<Again>,
  undecided: number,
): Awaitable<ToolOutcome | Again> {
  const { engine, turn, tool, journal } = live;
  const { deadlineLifted } = course;
  recordRuling(live, undefined);
  const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const isBounded = !deadlineLifted && turn.deadlineAtMs !== Number.POSITIVE_INFINITY;
  const leftMs = isBounded ? turn.deadlineAtMs - engine.clock.monotonicMs() : toolMs;
  const budgetMs = Math.max(0, Math.min(toolMs, leftMs));
  // Other processes use the ledger's clock.
  const deadlineMs = (tool.handoff ? engine.ledger : engine.clock).now() + budgetMs;
  journal.apply({
    id: '',
    type: 'tool.started',
    sessionId: '',
    turnId: '',
    callId: '',
    at: 0,
    cause: undefined,
    attempt: 0,
    idempotencyKey: live.toolKey === undefined ? undefined : clean(live, live.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    handoff: tool.handoff,
    stages: live.workflowSteps.length === 0 ? none : stagesOf(live),
    reserved: reservedBy(live),
  });
  if (grantIsPast(live)) {
    journal.rewind(undecided);
    return course.whenMoved(live);
  }
  const terms: AttemptTerms = { budgetMs, deadlineMs, costMicros: live.costMicros, lostCostMicros: 0 };
  return needsIntent(live)
    ? beginWithIntent(live, terms, course, undecided)
    : makeAttempt(live, terms, deadlineLifted);
}

function beginWithIntent<Again>(
  live: JudgedCall,
  terms: AttemptTerms,
  course: Course<Again>,
  undecided: number,
): Awaitable<ToolOutcome | Again> {
  const ready = beforeIntent(live.engine);
  return isPromiseLike(ready)
    ? storeIntentLater(live, terms, course, undecided, ready)
    : storeIntent(live, terms, course, undecided);
}

const storeIntentLater = <Again>(
  live: JudgedCall,
  terms: AttemptTerms,
  course: Course<Again>,
  undecided: number,
  ready: PromiseLike<void>,
): PromiseLike<ToolOutcome | Again> => ready.then(() => storeIntent(live, terms, course, undecided));

function storeIntent<Again>(
  live: JudgedCall,
  terms: AttemptTerms,
  course: Course<Again>,
  undecided: number,
): Awaitable<ToolOutcome | Again> {
  const appending = live.journal.flush(intentOf(live));
  return isPromiseLike(appending)
    ? goOnLater(live, terms, course, undecided, appending)
    : goOn(live, terms, course, undecided, appending);
}

const goOnLater = <Again>(
  live: JudgedCall,
  terms: AttemptTerms,
  course: Course<Again>,
  undecided: number,
  appending: PromiseLike<AppendResult>,
): PromiseLike<ToolOutcome | Again> =>
  appending.then((result) => goOn(live, terms, course, undecided, result));

const goOn = <Again>(
  live: JudgedCall,
  terms: AttemptTerms,
  course: Course<Again>,
  undecided: number,
  result: AppendResult,
): Awaitable<ToolOutcome | Again> =>
  result.status === 'appended'
    ? makeAttempt(live, terms, course.deadlineLifted)
    : refuseIntent(live, course, undecided, result);

async function refuseIntent<Again>(
  live: JudgedCall,
  course: Course<Again>,
  undecided: number,
  result: Exclude<AppendResult, { status: 'appended' }>,
): Promise<ToolOutcome | Again> {
  const { journal } = live;
  const intent = await takeRefusal(live, result);
  switch (intent.type) {
    case 'overtaken':
      return overtaken(live);
    case 'moved':
      journal.rewind(undecided);
      return course.whenMoved(live);
    case 'refused':
      journal.rewind(undecided);
      return end({ ...live, passages: [], ...intent.found }, intent.stop);
  }
}

const none: readonly never[] = Object.freeze([]);

/** Checks what may have changed while the call was judged or waited for its slot. */
function lastLook(live: JudgedCall, deadlineLifted: boolean): Stop | undefined {
  if (live.signals.cancelled !== undefined) return cancelStop(live.signals.cancelled);
  if (isStale(live)) return staleStop;
  return deadlineLifted ? undefined : turnIsOver(live);
}

const staleStop: Stop = {
  type: 'deny',
  reason: 'expired',
  code: 'confirmation.expired',
  details: 'What the preview showed had gone stale before the call could run.',
};

/** Ends a call that a gate has stopped. */
export function end(live: StoppedCall, stop: Stop): Promise<ToolOutcome> {
  recordRuling(live, stop);
  return endStopped(live, stop);
}

/** Like `end`, if the ruling is already on record. */
export const endStopped = (live: EndedCall, stop: Stop): Promise<ToolOutcome> =>
  stop.type === 'copy' ? copyOutcome(live, stop.from) : settleStopped(live, stop);
