/**
 * One attempt of a call: its body, raced against its deadline, and the judgement of its end.
 *
 * 1. The body's end, the deadline and a cancellation race. The first one decides and the others change
 *    nothing.
 * 2. A result after the deadline is late even if no timer fired: a body that blocked the thread past its
 *    deadline did not finish in time.
 * 3. The deadline also bounds the judgement: the success check, the output schema, the rules on results, the artifacts.
 *    A result that could not be checked in time is stored as late.
 * 4. A result of a body that lost the race is stored as late, after the end of the attempt.
 */
import { freezeJson } from '../base/json.ts';
import type { DeadlineWatch } from '../base/deadlines.ts';
import { isPromiseLike, within } from '../base/deadlines.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { outcomeIsError } from '../call/outcome.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { AttemptTerms } from './retry-attempt.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { inputExtra, inputForTool } from './call-input.ts';
import { unknownEnd } from './recall.ts';
import type { CheckedCall } from './active-call.ts';
import { modelNote, logProblem } from './active-call.ts';
import type { AttemptRecord } from './call-journal.ts';
import type { AttemptEnd, BodyEnd, AttemptFacts, Judgement } from './judgement.ts';
import { AttemptRemarks, notChecked, keepSideOutput, redactSideOutput, repeatOf } from './judgement.ts';
import { BodyContext } from './body-context.ts';
import { judgeEnd, appendLate, storingGraceMs } from './judge.ts';
import { noAttempt, unjudged } from './settle.ts';
import type { BodyOnce } from './call-observer.ts';

/** The end that won the race, and when. */
type Won = { readonly end: AttemptEnd; readonly elapsedMs: number; readonly endedAt: number };

/** A body that ends just before its deadline leaves this much time to check its result. */
const judgementGraceMs = 50;

export class Attempt {
  readonly active: CheckedCall;
  readonly context: BodyContext;
  startedAtMs: number;
  readonly #terms: AttemptTerms;
  #late: { readonly end: BodyEnd; readonly elapsedMs: number }[] = [];
  #isUnchecked = false;
  #isOver = false;

  constructor(active: CheckedCall, terms: AttemptTerms) {
    const { journal, engine } = active;
    const attempt = journal.call?.attempt ?? 1;
    // Telemetry must not use up the time of the attempt.
    journal.observer?.note({ type: 'attempt_started', attempt, startedMsAgo: 0 });
    this.active = active;
    this.#terms = terms;
    this.context = new BodyContext(active, attempt, active.toolKey);
    this.startedAtMs = engine.clock.monotonicMs();
  }

  /** Runs the body and judges its end. */
  async run(): Promise<Judgement> {
    const { active, context } = this;
    const { end, elapsedMs, endedAt } = await this.#race();
    active.journal.observer?.note({ type: 'body_ended' });
    const wasIdle = end.type === 'timed_out' && end.idle;
    const facts: AttemptFacts = {
      remarks: new AttemptRemarks(active.notes),
      context,
      elapsedMs: Math.round(elapsedMs),
      deadlineMs: wasIdle ? endedAt : this.#terms.deadlineMs,
    };
    const leftMs = this.#terms.budgetMs - elapsedMs;
    const graceMs = isBodyEnd(end) ? judgementGraceMs : storingGraceMs;
    const judged = judgeSafely(active, end, facts);
    const judgement = await within(active.engine, Math.max(leftMs, graceMs), judged, undefined);
    if (judgement !== undefined) return judgement;
    this.#isUnchecked = true;
    if (isBodyEnd(end)) this.#comesLate(end, facts.elapsedMs);
    return outOfTime(active, end, facts);
  }

  /** Starts the body. Resolves with the first of its end, its deadline and a cancellation. */
  #race(): Promise<Won> {
    const { active, context } = this;
    const { engine, signals, tool } = active;
    const { clock, deadlines, stragglers } = engine;
    const { budgetMs } = this.#terms;
    return new Promise((resolve) => {
      let isWon = false;
      let grace: DeadlineWatch | undefined;
      const begun = this.#begin();
      const elapsed = (): number => (begun.endedAtMs ?? clock.monotonicMs()) - this.startedAtMs;

      /** Returns false if another end was first. */
      const win = (end: AttemptEnd, elapsedMs = elapsed()): boolean => {
        if (isWon) return false;
        isWon = true;
        context.over = true;
        context.onProgress = undefined;
        signals.cancelBody = undefined;
        for (const watch of [deadline, idle, grace]) watch?.stop();
        // The body may continue after its call has ended. The runtime tracks it until it ends.
        if (!isBodyEnd(end)) {
          stragglers.add(body);
          void body.finally(() => stragglers.delete(body));
        }
        resolve({ end, elapsedMs, endedAt: clock.now() });
        return true;
      };
      const bodyEnds = (end: BodyEnd): void => {
        const elapsedMs = elapsed();
        if (elapsedMs <= budgetMs && win(end, elapsedMs)) return;
        win({ type: 'timed_out', idle: false }, elapsedMs);
        this.#comesLate(end, elapsedMs);
      };
      const timeOut = (isIdle: boolean): void => {
        if (isWon) return;
        context.abort(new DOMException('The tool ran out of time.', 'TimeoutError'));
        win({ type: 'timed_out', idle: isIdle });
      };
      const cancel = (): void => {
        const reason = signals.cancelled ?? 'cancelled';
        context.abort(new DOMException(reason, 'AbortError'));
        grace = deadlines.watch(engine.cancelGraceMs, () => win({ type: 'cancelled', reason }));
      };

      const deadline = deadlines.watchUntil(this.startedAtMs + budgetMs, () => timeOut(false));
      const { idleTimeoutMs } = tool;
      const idle =
        idleTimeoutMs === undefined ? undefined : deadlines.watch(idleTimeoutMs, () => timeOut(true));
      if (idleTimeoutMs !== undefined) context.onProgress = () => idle?.move(idleTimeoutMs);
      signals.cancelBody = cancel;
      const body = begun.promise.then(
        (value) => bodyEnds({ type: 'returned', value }),
        (error: unknown) => bodyEnds({ type: 'threw', error }),
      );
      // Cancelled between its intent and its first step: the body must still see the aborted signal.
      if (signals.cancelled !== undefined) cancel();
    });
  }

  /** Calls the body. `endedAtMs`: when it ended, if it returned no promise. */
  #begin(): { readonly promise: Promise<unknown>; readonly endedAtMs: number | undefined } {
    const { tool, input, engine, journal } = this.active;
    const observed = journal.observer?.isAround === true ? new ObservedBody(this) : undefined;
    const endedAt = (): number => observed?.endedAtMs ?? engine.clock.monotonicMs();
    try {
      const returned: unknown =
        observed === undefined
          ? tool.run(inputForTool(tool.input, input), this.context)
          : journal.observer?.runBody(observed);
      // Reading a foreign promise runs foreign code, which may throw.
      return isPromiseLike(returned)
        ? { promise: Promise.resolve(returned), endedAtMs: undefined }
        : { promise: Promise.resolve(returned), endedAtMs: endedAt() };
    } catch (error) {
      return { promise: Promise.reject(error as Error), endedAtMs: endedAt() };
    }
  }

  /** Data that is recorded in addition to the outcome. If rules do not judge it in time, it is left out. */
  async collectRecord({ outcome }: Judgement): Promise<AttemptRecord> {
    const { active, context } = this;
    const { targets, lines, partial, chargedMicros } = context;
    const costMicros = (chargedMicros ?? this.#terms.costMicros) + this.#terms.lostCostMicros;
    const nothing: AttemptRecord = { ...noAttempt, costMicros };
    // Rules that did not judge the result in time are not asked about the side output.
    if (this.#isUnchecked) return nothing;
    if (targets.length === 0 && lines.length === 0 && partial === undefined) return nothing;
    const leftMs = this.#terms.budgetMs - (active.engine.clock.monotonicMs() - this.startedAtMs);
    const redacted = this.#redactSideOutput(outcome);
    const kept = await within(active.engine, Math.max(leftMs, judgementGraceMs), redacted, undefined);
    if (kept !== undefined) return { ...nothing, ...kept };
    logProblem(
      active,
      'Rules did not answer in time about what the tool logged, reached or recorded: it is not stored.',
    );
    return nothing;
  }

  async #redactSideOutput(outcome: ToolOutcome): Promise<Omit<AttemptRecord, 'costMicros'>> {
    const { active, context } = this;
    const { partial } = context;
    // Failures and timeouts have their own extras.
    const kept =
      partial !== undefined && !outcomeIsError(outcome) ? await redactSideOutput(active, partial) : undefined;
    return {
      ...(await keepSideOutput(active, context)),
      payloadExtras: kept === undefined ? undefined : { partial: kept },
    };
  }

  /** Call it once the end is stored: any other result of the body is late. */
  over(): void {
    this.#isOver = true;
    for (const { end, elapsedMs } of this.#late.splice(0)) this.#comesLate(end, elapsedMs);
  }

  #comesLate(end: BodyEnd, elapsedMs: number): void {
    if (this.#isOver) appendLate(this.active, end, elapsedMs, this.context.attempt);
    else this.#late.push({ end, elapsedMs });
  }
}

const isBodyEnd = (end: AttemptEnd): end is BodyEnd => end.type === 'returned' || end.type === 'threw';

/**
 * Judges the end of a body. If a check after the body fails, the model learns only that the tool ran; the record names
 * the failure.
 */
async function judgeSafely(active: CheckedCall, end: AttemptEnd, facts: AttemptFacts): Promise<Judgement> {
  try {
    return await judgeEnd(active, end, facts);
  } catch (error) {
    logProblem(active, `The result could not be processed: ${describeThrown(error)}`);
    if (!(error instanceof LedgerTrouble)) return unchecked(active, facts);
    const why = 'The tool ran, but its output could not be stored';
    const outcome = unknownEnd(active, facts.remarks.notes, why);
    return { ...unjudged(outcome, false), rules: facts.remarks.rules };
  }
}

/** The end of a body whose result was not checked. No part of the result is in it. */
function unchecked(active: CheckedCall, { elapsedMs, remarks }: AttemptFacts): Judgement {
  const { tool, request } = active;
  const { code, error, retryable } = notChecked(active);
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: tool.name,
    code,
    error,
    ...repeatOf(tool, { code, retryable }),
    elapsedMs,
    ...modelNote(remarks.notes),
  });
  return { ...unjudged(outcome, false), rules: remarks.rules };
}

/**
 * The end of a body whose judgement timed out. Its result was not checked, so it is stored as late.
 */
function outOfTime(active: CheckedCall, end: AttemptEnd, facts: AttemptFacts): Judgement {
  const { elapsedMs, deadlineMs, remarks } = facts;
  const { tool, request } = active;
  if (isBodyEnd(end)) return unchecked(active, facts);
  if (end.type === 'cancelled') {
    const why = 'The call was cancelled while the tool was running';
    return { ...unjudged(unknownEnd(active, remarks.notes, why)), rules: remarks.rules };
  }
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: tool.name,
    code: 'tool.timeout',
    deadlineMs,
    ...repeatOf(tool, { code: 'tool.timeout', retryable: tool.retryOnTimeout }),
    elapsedMs,
    payloadExtras: freezeJson(inputExtra(active.journal)),
    ...modelNote(remarks.notes),
  });
  return { ...unjudged(outcome), rules: remarks.rules };
}

/**
 * A body that telemetry runs.
 *
 * 1. It runs once, whatever telemetry does: telemetry may throw, call it twice, or not at all.
 * 2. The time of the telemetry itself does not count as time of the body.
 */
type ObservedAttempt = { readonly active: CheckedCall; readonly context: BodyContext; startedAtMs: number };

class ObservedBody implements BodyOnce {
  private readonly attempt: ObservedAttempt;
  private end: 'none' | 'returned' | 'threw' = 'none';
  private value: unknown;
  endedAtMs: number | undefined;

  constructor(attempt: ObservedAttempt) {
    this.attempt = attempt;
  }

  readonly run = (): unknown => {
    // A body that starts itself again through telemetry must not run again either.
    if (this.end === 'none') this.runOnce();
    return this.end === 'returned' ? this.value : undefined;
  };

  private runOnce(): void {
    const { active, context } = this.attempt;
    const { tool, input, engine } = active;
    this.end = 'returned';
    this.attempt.startedAtMs = engine.clock.monotonicMs();
    try {
      this.value = tool.run(inputForTool(tool.input, input), context);
    } catch (error) {
      this.end = 'threw';
      this.value = error;
    } finally {
      this.endedAtMs = engine.clock.monotonicMs();
    }
  }

  finish(): unknown {
    if (this.end === 'none') this.runOnce();
    if (this.end === 'threw') throw this.value;
    return this.value;
  }
}
