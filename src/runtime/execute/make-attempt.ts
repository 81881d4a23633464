/** Runs the body of a call whose intent is stored, if it needs one, and settles the call with its end. */
import type { ToolResponded } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError } from '../../call/outcome.ts';
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { runBody } from '../attempt/attempt.ts';
import type { Judgement } from '../attempt/judgement.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { AttemptRun } from './attempt-run.ts';
import { awaitReport } from '../handoff/await-report.ts';
import type { BoundKey, EndedCall, ReadyCall, StartedCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { clean } from '../input/clean.ts';
import { knownCost } from '../gates/cost.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import { overtaken, settle } from '../settle/settle.ts';
import type { AttemptTerms, NextAttempt } from './retry-attempt.ts';
import { goOnTrying, judgementOf, recordOf, retryAttempt } from './retry-attempt.ts';

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
    ? makeAttempt(live, { budgetMs, deadlineMs, costMicros, lostCostMicros }, true)
    : undefined;
}

/**
 * Continues a call whose owner died between two attempts: retries it if a behavior asks for that, and
 * otherwise ends it with its last failure. Undefined if another process was first. `onWait` is called before a wait for
 * the due time of the retry.
 */
export async function attemptNext(
  live: ReadyCall & BoundKey,
  failed: ToolResponded,
  onWait: () => void,
): Promise<ToolOutcome | undefined> {
  const next = await goOnTrying(live, failed, onWait);
  switch (next.type) {
    case 'overtaken':
      return undefined;
    case 'none':
      return endAsFailed(live, failed);
    case 'attempt':
      return makeAttempt(next.live, next.terms, true);
  }
}

/** Ends a call with its last failure. Undefined if another process continues it. */
export async function endAsFailed(live: EndedCall, failed: ToolResponded): Promise<ToolOutcome | undefined> {
  const judgement = judgementOf(failed);
  return (await keepEnd(live, judgement, recordOf(failed))) ? judgement.outcome : undefined;
}

export function makeAttempt(
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
  if (journal.observer?.isRecording !== true) return;
  journal.observer.note({
    type: 'attempt_started',
    attempt: journal.call?.attempt ?? 1,
    startedMsAgo: 0,
  });
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
