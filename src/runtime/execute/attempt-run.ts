/** One attempt of a call, from its body to the judgement of the result. */
import type { Awaitable } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError } from '../../call/outcome.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { AttemptEnd, BodyEnd, RunningAttempt } from '../attempt/attempt.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { StartedCall } from '../state/call-stages.ts';
import { modelNote } from '../state/call-stages.ts';
import { aside } from '../state/aside.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { repeatOf } from '../gates/doubt.ts';
import { inputExtra } from '../input/input-extra.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { AttemptFacts, Judgement } from '../attempt/judgement.ts';
import { notChecked } from '../attempt/judgement.ts';
import { appendLate, storingGraceMs } from '../attempt/late.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { keepSideOutput, redactSideOutput } from '../attempt/redact-side-output.ts';
import { noAttempt, unjudged } from '../settle/settle.ts';
import type { AttemptTerms } from './retry-attempt.ts';
import { unknownEnd } from '../settle/unavailable.ts';
import { within } from '../../base/within.ts';

const none: readonly never[] = Object.freeze([]);
const bodyEnded = { type: 'body_ended' } as const;

/** Retries or settles a judged attempt. */
type Conclude = (run: AttemptRun, judgement: Judgement) => Awaitable<ToolOutcome>;

export class AttemptRun implements RunningAttempt<ToolOutcome> {
  readonly live: StartedCall;
  readonly terms: AttemptTerms;
  readonly context: BodyContext;
  /** A person was asked, so the deadline of the turn does not bound the call. */
  readonly deadlineLifted: boolean;
  readonly #conclude: Conclude;
  startedAtMs: number;
  /** Few attempts have these: they take no room until they are set. */
  declare private late: { readonly end: BodyEnd; readonly elapsedMs: number }[] | undefined;
  declare private abandoned: true | undefined;
  #isOver = false;

  constructor(live: StartedCall, terms: AttemptTerms, deadlineLifted: boolean, conclude: Conclude) {
    this.live = live;
    this.terms = terms;
    this.deadlineLifted = deadlineLifted;
    this.context = new BodyContext(live, live.journal.call?.attempt ?? 1, live.toolKey);
    this.#conclude = conclude;
    this.startedAtMs = live.engine.clock.monotonicMs();
  }

  get budgetMs(): number {
    return this.terms.budgetMs;
  }

  judge(bodyEnd: AttemptEnd): Awaitable<ToolOutcome> {
    const { live, context } = this;
    const { clock } = live.engine;
    context.over = true;
    live.journal.observer?.note(bodyEnded);
    const elapsedMs = Math.round(clock.monotonicMs() - this.startedAtMs);
    const wasIdle = bodyEnd.type === 'timed_out' && bodyEnd.idle;
    const facts: AttemptFacts = {
      remarks: new AttemptRemarks(live.notes),
      context,
      elapsedMs,
      deadlineMs: wasIdle ? clock.now() : this.terms.deadlineMs,
    };
    const judged = judgeSafely(live, bodyEnd, facts);
    return judged instanceof Promise
      ? this.#inTime(bodyEnd, judged, facts).then((judgement) => this.#conclude(this, judgement))
      : this.#conclude(this, judged);
  }

  /**
   * The deadline also bounds the judgement: the success check, the output schema, the rules on results, the
   * artifacts. Synchronous code cannot be interrupted. A result that could not be checked in time is stored
   * as late.
   */
  async #inTime(end: AttemptEnd, judged: Promise<Judgement>, facts: AttemptFacts): Promise<Judgement> {
    const live = this.live;
    const leftMs = this.terms.budgetMs - facts.elapsedMs;
    const graceMs = end.type === 'returned' || end.type === 'threw' ? judgementGraceMs : storingGraceMs;
    const tooLong = Promise.withResolvers<undefined>();
    const watch = live.engine.deadlines.watch(Math.max(leftMs, graceMs), () => tooLong.resolve(undefined));
    try {
      const judgement = await Promise.race([judged, tooLong.promise]);
      if (judgement !== undefined) return judgement;
    } finally {
      watch.stop();
    }
    judged.catch(() => undefined);
    this.abandoned = true;
    if (end.type === 'returned' || end.type === 'threw') this.comesLate(end, facts.elapsedMs);
    return outOfTime(live, end, facts);
  }

  /** Data that is recorded in addition to the outcome. If rules do not judge it in time, it is left out. */
  collectRecord({ outcome }: Judgement): AttemptRecord | Promise<AttemptRecord> {
    const { targets, lines, partial, chargedMicros } = this.context;
    const costMicros = (chargedMicros ?? this.terms.costMicros) + this.terms.lostCostMicros;
    const nothing: AttemptRecord =
      costMicros === 0 ? noAttempt : { costMicros, reached: none, log: none, payloadExtras: undefined };
    // Rules that did not judge the result in time are not asked about the side output.
    if (this.abandoned) return nothing;
    if (targets.length === 0 && lines.length === 0 && partial === undefined) return nothing;
    return this.#collectSlowly(outcome, nothing);
  }

  async #collectSlowly(outcome: ToolOutcome, nothing: AttemptRecord): Promise<AttemptRecord> {
    const live = this.live;
    const { engine } = live;
    const leftMs = this.terms.budgetMs - (engine.clock.monotonicMs() - this.startedAtMs);
    const ruled = this.#redactSideOutput(outcome);
    const kept = await within(engine, Math.max(leftMs, judgementGraceMs), ruled, undefined);
    if (kept !== undefined) return { ...nothing, ...kept };
    aside(
      live,
      'Rules did not answer in time about what the tool logged, reached or recorded: it is not stored.',
    );
    return nothing;
  }

  async #redactSideOutput(outcome: ToolOutcome): Promise<Omit<AttemptRecord, 'costMicros'>> {
    const { partial } = this.context;
    const live = this.live;
    // Failures and timeouts have their own extras.
    const kept =
      partial !== undefined && !outcomeIsError(outcome) ? await redactSideOutput(live, partial) : undefined;
    return {
      ...(await keepSideOutput(live, this.context)),
      payloadExtras: kept === undefined ? undefined : { partial: kept },
    };
  }

  /** The end is stored: anything that the body returned meanwhile or returns from now on is late. */
  over(): void {
    this.#isOver = true;
    const { late } = this;
    if (late === undefined) return;
    this.late = undefined;
    for (const { end, elapsedMs } of late) this.comesLate(end, elapsedMs);
  }

  comesLate(end: BodyEnd, elapsedMs: number): void {
    if (this.#isOver) appendLate(this.live, end, elapsedMs, this.context.attempt);
    else (this.late ??= []).push({ end, elapsedMs });
  }
}

/** A body that ends just before its deadline leaves this much time to check its result. */
const judgementGraceMs = 50;

/**
 * Judges the end of a body. Whatever fails after the body, the model learns only that the tool ran, and the record
 * says what failed.
 */
function judgeSafely(
  live: StartedCall,
  end: AttemptEnd,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  try {
    const judged = judgeEnd(live, end, facts);
    return judged instanceof Promise
      ? judged.catch((error: unknown) => withoutResult(live, facts, error))
      : judged;
  } catch (error) {
    return withoutResult(live, facts, error);
  }
}

function withoutResult(live: StartedCall, facts: AttemptFacts, error: unknown): Judgement {
  aside(live, `The result could not be processed: ${describeThrown(error)}`);
  if (!(error instanceof LedgerTrouble)) return unchecked(live, facts);
  const outcome = unknownEnd(
    live,
    modelNote(facts.remarks.notes),
    'The tool ran, but its output could not be stored',
  );
  return { ...unjudged(outcome, false), rules: facts.remarks.rules };
}

/** The end of a body whose result was not checked. No part of the result is in it. */
function unchecked(live: StartedCall, { elapsedMs, remarks }: AttemptFacts): Judgement {
  const { tool, request } = live;
  const { code, error, retryable } = notChecked(live);
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
 * The end of a body whose judgement ran out of time. No rule and no check judges it, so the body's result is stored as
 * late.
 */
function outOfTime(live: StartedCall, end: AttemptEnd, facts: AttemptFacts): Judgement {
  const { elapsedMs, deadlineMs, remarks } = facts;
  const { tool, request } = live;
  if (end.type === 'returned' || end.type === 'threw') return unchecked(live, facts);
  if (end.type === 'cancelled') {
    const why = 'The call was cancelled while the tool was running';
    return { ...unjudged(unknownEnd(live, modelNote(remarks.notes), why)), rules: remarks.rules };
  }
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: tool.name,
    code: 'tool.timeout',
    deadlineMs,
    ...repeatOf(tool, { code: 'tool.timeout', retryable: tool.retryOnTimeout }),
    elapsedMs,
    payloadExtras: freezeJson(inputExtra(live.journal)),
    ...modelNote(remarks.notes),
  });
  return { ...unjudged(outcome), rules: remarks.rules };
}
