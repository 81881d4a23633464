/**
 * From the last gate to the outcome: a slot, the claim and the intent in one append, the body, the judgement.
 */
import type { ReservedShare, StageMark, ToolResponded } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError } from '../../call/outcome.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { EntryExtra } from '../state/call-journal.ts';
import { runBody } from '../attempt/attempt.ts';
import type { Judgement } from '../attempt/judgement.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { AttemptRun } from './attempt-run.ts';
import { awaitReport } from '../handoff/await-report.ts';
import { isTaken } from '../host/budget.ts';
import type {
  BoundKey,
  EndedCall,
  Findings,
  JudgedCall,
  Moved,
  ReadyCall,
  StartedCall,
  StoppedCall,
} from '../state/call-stages.ts';
import { moved } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import type { ClaimHolder } from '../../ledger/claims.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { recordRuling } from '../gates/record-ruling.ts';
import { clean } from '../input/clean.ts';
import { usedUp } from '../rules/contract-rules.ts';
import { copyOutcome } from '../settle/copy-outcome.ts';
import { knownCost } from '../gates/cost.ts';
import { keepTyped } from '../accept/keep-typed.ts';
import { isAllowedByExpiry, isUsedTooLate, settleExpired } from '../settle/expiry.ts';
import { turnIsOver } from '../gates/deadline.ts';
import type { Stop } from '../state/gate.ts';
import { meetHolder } from '../gates/key.ts';
import { outOfBudget } from '../gates/limits.ts';
import { isStale } from '../state/recall-snapshot.ts';
import { beforeIntent } from '../state/spill.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import { overtaken, settle, settleStopped } from '../settle/settle.ts';
import { sealInput } from '../state/seal-input.ts';
import type { AttemptTerms, NextAttempt } from './retry-attempt.ts';
import { goOnTrying, judgementOf, recordOf, retryAttempt } from './retry-attempt.ts';
import { cancelStop, waitUnlessEnded } from '../gates/wait-unless-ended.ts';
import { grantIsPast } from '../grants/answer-by-grant.ts';

/** Runs a call that has passed the gates. `deadlineLifted`: a person was asked, so the deadline of the turn no longer bounds the attempt. */
export const execute = (live: JudgedCall, deadlineLifted: boolean): Awaitable<ToolOutcome | Moved> =>
  live.awaitStart === undefined
    ? start(live, deadlineLifted)
    : startInOrder(live, live.awaitStart(), deadlineLifted);

async function startInOrder(
  live: JudgedCall,
  place: Promise<() => void>,
  deadlineLifted: boolean,
): Promise<ToolOutcome | Moved> {
  const { telemetry, clock } = live.engine;
  const queuedAtMs = telemetry.isTimed ? clock.monotonicMs() : 0;
  const waited = await waitUnlessEnded(live, place, deadlineLifted);
  if (waited.type === 'over') {
    void place.then((leave) => leave());
    return end(live, waited.stop);
  }
  const leave = waited.value;
  if (telemetry.isTimed) telemetry.noteTime('queue', clock.monotonicMs() - queuedAtMs + (live.queuedMs ?? 0));
  try {
    return await start(live, deadlineLifted);
  } finally {
    leave();
  }
}

function start(judged: JudgedCall, deadlineLifted: boolean): Awaitable<ToolOutcome | Moved> {
  const { engine, journal } = judged;
  const asked = journal.call?.confirmation;
  // The checks, or the wait for a slot, may have taken longer than the approval was valid.
  if (asked !== undefined && isUsedTooLate(asked, engine.ledger.now())) return settleExpired(judged, asked);
  const stop = lastLook(judged, deadlineLifted);
  if (stop !== undefined) return end(judged, stop);
  const undecided = journal.mark();
  return judged.input.form === 'json'
    ? begin(judged, deadlineLifted, undecided)
    : beginTyped(judged, deadlineLifted, undecided);
}

async function beginTyped(
  judged: JudgedCall,
  deadlineLifted: boolean,
  undecided: number,
): Promise<ToolOutcome | Moved> {
  const typed = await keepTyped(judged);
  return typed.type === 'stopped' ? end(judged, typed.stop) : begin(typed.live, deadlineLifted, undecided);
}

/** Records the ruling and the start, stores the intent if the call needs one, and runs the body. */
function begin(live: JudgedCall, deadlineLifted: boolean, undecided: number): Awaitable<ToolOutcome | Moved> {
  const { engine, turn, tool, journal } = live;
  recordRuling(live, undefined);
  const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const leftMs = deadlineLifted ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();
  const budgetMs = Math.max(0, Math.min(toolMs, leftMs));
  // Other processes use the ledger's clock.
  const deadlineMs = (tool.handoff ? engine.ledger : engine.clock).now() + budgetMs;
  journal.apply({
    type: 'start',
    idempotencyKey: live.toolKey === undefined ? undefined : clean(live, live.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    handoff: tool.handoff,
    stages: live.workflowSteps.length === 0 ? none : stagesOf(live),
    reserved: reservedBy(live),
  });
  if (grantIsPast(live)) {
    journal.rewind(undecided);
    return moved;
  }
  const terms: AttemptTerms = { budgetMs, deadlineMs, costMicros: live.costMicros, lostCostMicros: 0 };
  return needsIntent(live)
    ? beginWithIntent(live, terms, deadlineLifted, undecided)
    : attempt(live, terms, deadlineLifted);
}

function beginWithIntent(
  live: JudgedCall,
  terms: AttemptTerms,
  deadlineLifted: boolean,
  undecided: number,
): Awaitable<ToolOutcome | Moved> {
  const ready = beforeIntent(live.engine);
  return isPromiseLike(ready)
    ? storeIntentLater(live, terms, deadlineLifted, undecided, ready)
    : storeIntent(live, terms, deadlineLifted, undecided);
}

const storeIntentLater = (
  live: JudgedCall,
  terms: AttemptTerms,
  deadlineLifted: boolean,
  undecided: number,
  ready: PromiseLike<void>,
): PromiseLike<ToolOutcome | Moved> => ready.then(() => storeIntent(live, terms, deadlineLifted, undecided));

function storeIntent(
  live: JudgedCall,
  terms: AttemptTerms,
  deadlineLifted: boolean,
  undecided: number,
): Awaitable<ToolOutcome | Moved> {
  const appending = live.journal.flush(intentOf(live));
  return isPromiseLike(appending)
    ? goOnLater(live, terms, deadlineLifted, undecided, appending)
    : goOn(live, terms, deadlineLifted, undecided, appending);
}

const goOnLater = (
  live: JudgedCall,
  terms: AttemptTerms,
  deadlineLifted: boolean,
  undecided: number,
  appending: PromiseLike<AppendResult>,
): PromiseLike<ToolOutcome | Moved> =>
  appending.then((result) => goOn(live, terms, deadlineLifted, undecided, result));

const goOn = (
  live: JudgedCall,
  terms: AttemptTerms,
  deadlineLifted: boolean,
  undecided: number,
  result: AppendResult,
): Awaitable<ToolOutcome | Moved> =>
  result.status === 'appended' ? attempt(live, terms, deadlineLifted) : refuseIntent(live, undecided, result);

async function refuseIntent(
  live: JudgedCall,
  undecided: number,
  result: Exclude<AppendResult, { status: 'appended' }>,
): Promise<ToolOutcome | Moved> {
  const { journal } = live;
  const intent = await takeRefusal(live, result);
  switch (intent.type) {
    case 'overtaken':
      return overtaken(live);
    case 'moved':
      journal.rewind(undecided);
      return intent;
    case 'refused':
      journal.rewind(undecided);
      return end({ ...live, passages: [], ...intent.found }, intent.stop);
  }
}

const none: readonly never[] = Object.freeze([]);

/** The shares to reserve, and the counts that the end of the call adds. */
const reservedBy = ({ shares, counted }: JudgedCall): readonly ReservedShare[] =>
  shares.length === 0
    ? counted
    : [
        ...shares.filter(isTaken).map(({ counter, amount, metric }) => ({ counter, amount, metric })),
        ...counted,
      ];

const stagesOf = ({ workflowSteps }: JudgedCall): readonly StageMark[] =>
  workflowSteps.flatMap(({ workflow, ruling: { stageId } }) =>
    stageId === undefined ? [] : [{ workflow: workflow.name, stageId }],
  );

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

/**
 * A read without limits changes and reserves nothing, so its request may be stored together with its outcome.
 * A call that an expiry allowed always needs an intent, because a denial that was received in time counts
 * until then.
 */
const needsIntent = ({ tool, shares, claimKey, journal, grant, takenOver }: JudgedCall): boolean =>
  !tool.surelyReads ||
  // The body may have ended the previous process, so from now on every attempt is recorded.
  takenOver !== undefined ||
  isAllowedByExpiry(journal.call?.confirmation) ||
  tool.handoff ||
  shares.length > 0 ||
  claimKey !== undefined ||
  journal.isMoving ||
  grant !== undefined;

/** What the ledger's refusal of an intent means. */
type Refusal =
  /** Another process has changed the call. */
  | { readonly type: 'overtaken' }
  | Moved
  | { readonly type: 'refused'; readonly stop: Stop; readonly found?: Partial<Findings> };

/** What the intent takes in the same append: shares of limits, the claim on the key, the sealed input. */
const intentOf = (live: JudgedCall): EntryExtra => {
  const { claimKey, shares, input, supersedes, grant } = live;
  return {
    reserve: shares.length > 0 ? shares : undefined,
    claim:
      claimKey === undefined
        ? undefined
        : {
            key: claimKey,
            inputDigest: input.effective.digest,
            ...(supersedes !== undefined && { supersedes }),
          },
    guards: grant === undefined ? undefined : [grant.guard],
    sealed: sealInput(live),
  };
};

function takeRefusal(
  live: JudgedCall,
  result: Exclude<AppendResult, { status: 'appended' }>,
): Awaitable<Refusal> {
  switch (result.status) {
    case 'conflict':
      return { type: 'overtaken' };
    case 'displaced':
      throw new TypeError('The ledger refused a cursor that the entry does not have.');
    case 'moved':
      return moved;
    case 'exhausted':
      return exhausted(live, result.counter, result.used);
    case 'claimed':
      return claimed(live, live.claimKey, result.holder);
  }
}

async function exhausted(live: JudgedCall, counter: string, used: number): Promise<Refusal> {
  const share = live.shares.find((each) => each.counter === counter);
  if (share === undefined)
    throw new TypeError(`The ledger refused a reservation that the entry does not have: ${counter}`);
  // Another call took the last use of the grant, so a person is asked.
  if ('grantId' in share) return moved;
  if (!('limits' in share)) return { type: 'refused', stop: outOfBudget(share, used) };
  const { stop, mark } = await usedUp(live, live.policy as Policy, share); // a contract's share comes from a policy
  return { type: 'refused', stop, found: { rules: [...live.rules, mark] } };
}

async function claimed(
  live: JudgedCall,
  claimKey: string | undefined,
  holder: ClaimHolder,
): Promise<Refusal> {
  const verdict = claimKey === undefined ? undefined : await meetHolder(live, claimKey, holder);
  if (verdict?.type === 'stopped') return { type: 'refused', stop: verdict.stop, found: verdict.found };
  // Between the gate and the claim, the key was released or needs a person. A repeat of the same call finds
  // out.
  return {
    type: 'refused',
    stop: {
      type: 'deny',
      reason: 'duplicate',
      code: 'call.twin',
      details: `Call ${holder.callId} took the same idempotency key first.`,
    },
  };
}

/**
 * Runs the body again after an attempt whose end was not recorded. Undefined if another process was first.
 * The reservation of the lost attempt stays and is charged with this one.
 */
export async function attemptAgain(live: ReadyCall & BoundKey): Promise<ToolOutcome | undefined> {
  const { engine, tool, journal } = live;
  const budgetMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const deadlineMs = engine.clock.now() + budgetMs;
  const { reserved = [], stages = [] } = journal.call?.started ?? {};
  const costMicros = knownCost(live);
  const lostCostMicros = reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0;
  journal.apply({
    type: 'start',
    idempotencyKey: live.toolKey === undefined ? undefined : clean(live, live.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages,
    reserved,
  });
  const { status } = await journal.flush();
  return status === 'appended'
    ? attempt(live, { budgetMs, deadlineMs, costMicros, lostCostMicros }, true)
    : undefined;
}

/**
 * Continues a call whose owner died between two attempts: retries it if a behavior asks for that, and
 * otherwise ends it with its last failure. Undefined if another process was first.
 */
export async function attemptNext(
  live: ReadyCall & BoundKey,
  failed: ToolResponded,
): Promise<ToolOutcome | undefined> {
  const next = await goOnTrying(live, failed);
  switch (next.type) {
    case 'overtaken':
      return undefined;
    case 'none':
      return endAsFailed(live, failed);
    case 'attempt':
      return attempt(next.live, next.terms, true);
  }
}

/** Ends a call with its last failure. Undefined if another process continues it. */
export async function endAsFailed(live: EndedCall, failed: ToolResponded): Promise<ToolOutcome | undefined> {
  const judgement = judgementOf(failed);
  return (await keepEnd(live, judgement, recordOf(failed))) ? judgement.outcome : undefined;
}

function attempt(
  ready: ReadyCall & BoundKey,
  terms: AttemptTerms,
  deadlineLifted: boolean,
): Awaitable<ToolOutcome> {
  const { tool, turn } = ready;
  const resourceKeys = tool.resourceKeys === undefined ? undefined : keysOf(ready);
  const live: StartedCall = resourceKeys === undefined ? ready : { ...ready, resourceKeys };
  if (!tool.surelyReads) turn.recent.noteWrite(resourceKeys);
  if (tool.handoff) return awaitReport(live);
  noteAttempt(live);
  return runBody(new AttemptRun(live, terms, deadlineLifted, conclude));
}

/** Before the time of the attempt begins: telemetry must not use it up. */
function noteAttempt({ journal }: StartedCall): void {
  journal.observer?.note({ type: 'attempt_started', attempt: journal.call?.attempt ?? 1 });
}

const keysOf = ({ tool, input }: ReadyCall): readonly string[] | undefined =>
  resourceKeysOf(tool, () => inputForTool(tool.input, input));

/** Settles the call with a judged attempt, or retries it. Synchronous if the ledger is. */
function conclude(run: AttemptRun, judgement: Judgement): Awaitable<ToolOutcome> {
  const { live } = run;
  const record = run.collectRecord(judgement);
  if (record instanceof Promise || (live.services.behaviors.anyRetries && outcomeIsError(judgement.outcome)))
    return concludeSlowly(run, judgement, record);
  const settling = settle(live, judgement, record);
  return isPromiseLike(settling) ? overLater(run, settling) : over(run, settling);
}

const overLater = (run: AttemptRun, settling: PromiseLike<ToolOutcome>): PromiseLike<ToolOutcome> =>
  settling.then((outcome) => over(run, outcome));

function over(run: AttemptRun, outcome: ToolOutcome): ToolOutcome {
  run.over();
  return outcome;
}

async function concludeSlowly(
  run: AttemptRun,
  judgement: Judgement,
  collecting: Awaitable<AttemptRecord>,
): Promise<ToolOutcome> {
  const { live, deadlineLifted } = run;
  const record = await collecting;
  const next: NextAttempt =
    live.services.behaviors.anyRetries && outcomeIsError(judgement.outcome)
      ? await retryAttempt(live, judgement, record, deadlineLifted, () => run.over())
      : { type: 'none' };
  if (next.type === 'none') return over(run, await settle(live, judgement, record));
  run.over();
  if (next.type === 'overtaken') return overtaken(live);
  noteAttempt(live);
  return runBody(new AttemptRun({ ...live, ...next.live }, next.terms, deadlineLifted, conclude));
}
