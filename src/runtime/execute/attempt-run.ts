/** One attempt of a call, from its body to the judgement of what that gave. */
import { freezeJson } from '../../base/json.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError } from '../../call/outcome.ts';
import { cutText } from '../../base/cut-text.ts';
import type { AttemptEnd, BodyEnd } from '../attempt/attempt.ts';
import { runBody } from '../attempt/attempt.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { repeatOf } from '../gates/doubt.ts';
import { inputExtra } from '../input/input-extra.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { AttemptFacts, Judgement } from '../attempt/judgement.ts';
import { fail } from '../attempt/judgement.ts';
import { appendLate, storingGraceMs } from '../attempt/late.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { ruleBeside, ruleLines, ruleTargets } from '../attempt/rule-beside.ts';
import type { Attempt } from '../settle/settle.ts';
import type { AttemptTerms } from './try-again.ts';
import { unknownEnd } from '../settle/unavailable.ts';
import { within } from '../../base/within.ts';

export class AttemptRun {
  readonly #hand: CallInHand;
  readonly #bounds: AttemptTerms;
  readonly #attempt: number;
  readonly #context: BodyContext;
  #late: { readonly end: BodyEnd; readonly elapsedMs: number }[] = [];
  #isOver = false;
  #abandoned = false;
  #startedAtMs = 0;

  constructor(hand: CallInHand, bounds: AttemptTerms) {
    this.#hand = hand;
    this.#bounds = bounds;
    this.#attempt = hand.call?.attempt ?? 1;
    this.#context = new BodyContext(hand, this.#attempt, hand.toolKey);
  }

  /** Runs the body. */
  async judgement(): Promise<Judgement> {
    const hand = this.#hand;
    const context = this.#context;
    const { engine, knownTool: tool } = hand;
    const { budgetMs, deadlineMs } = this.#bounds;
    const startedAtMs = (this.#startedAtMs = engine.clock.monotonicMs());
    const ended = runBody(
      hand,
      context,
      { budgetMs, idleMs: tool.idleTimeoutMs, graceMs: engine.cancelGraceMs },
      (end, elapsedMs) => this.#comesLate(end, elapsedMs),
    );
    const bodyEnd = ended instanceof Promise ? await ended : ended;
    context.over = true;
    const elapsedMs = Math.round(engine.clock.monotonicMs() - startedAtMs);
    const wasIdle = bodyEnd.type === 'timed_out' && bodyEnd.idle;
    const facts: AttemptFacts = {
      context,
      elapsedMs,
      deadlineMs: wasIdle ? engine.clock.now() : deadlineMs,
    };
    const judged = judgeEnd(hand, bodyEnd, facts);
    return judged instanceof Promise ? this.#inTime(bodyEnd, judged, facts) : judged;
  }

  /**
   * The deadline bounds the judgement too: the success check, the output schema, the rules on results, the artifacts. What
   * is synchronous cannot be interrupted. A result that could not be checked in time is stored as late.
   */
  async #inTime(end: AttemptEnd, judged: Promise<Judgement>, facts: AttemptFacts): Promise<Judgement> {
    const hand = this.#hand;
    const leftMs = this.#bounds.budgetMs - facts.elapsedMs;
    const graceMs = end.type === 'returned' || end.type === 'threw' ? judgementGraceMs : storingGraceMs;
    const tooLong = Promise.withResolvers<undefined>();
    const watch = hand.engine.deadlines.watch(Math.max(leftMs, graceMs), () => tooLong.resolve(undefined));
    try {
      const judgement = await Promise.race([judged, tooLong.promise]);
      if (judgement !== undefined) return judgement;
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      const problem = `The tool ran, but its output could not be kept: ${cutText(error.message, 500)}`;
      return fail(hand, { code: 'tool.indeterminate', error: problem, retryable: false }, facts);
    } finally {
      watch.stop();
    }
    judged.catch(() => undefined);
    this.#abandoned = true;
    if (end.type === 'returned' || end.type === 'threw') this.#comesLate(end, facts.elapsedMs);
    return outOfTime(hand, end, facts);
  }

  /** What is kept of it beside its end. Rules that do not answer in time about that keep it off the record. */
  async kept({ outcome }: Judgement): Promise<Attempt> {
    const hand = this.#hand;
    const { engine } = hand;
    const { targets, lines, partial, chargedMicros } = this.#context;
    const costMicros = (chargedMicros ?? hand.costMicros) + hand.lostCostMicros;
    const nothing: Attempt = { costMicros, reached: [], log: [], payloadExtras: undefined };
    // Rules that did not answer in time about the result are not asked about what lies beside it.
    if (this.#abandoned) return nothing;
    if (targets.length === 0 && lines.length === 0 && partial === undefined) return nothing;
    const leftMs = this.#bounds.budgetMs - (engine.clock.monotonicMs() - this.#startedAtMs);
    const ruled = this.#ruleBeside(outcome);
    const kept = await within(engine, Math.max(leftMs, judgementGraceMs), ruled, undefined);
    if (kept !== undefined) return { costMicros, ...kept };
    hand.aside(
      'Rules did not answer in time about what the tool logged, reached or recorded: it is not stored.',
    );
    return nothing;
  }

  async #ruleBeside(outcome: ToolOutcome): Promise<Omit<Attempt, 'costMicros'>> {
    const { targets, lines, partial } = this.#context;
    const hand = this.#hand;
    // Failures and timeouts have extras of their own.
    const kept =
      partial !== undefined && !outcomeIsError(outcome) ? await ruleBeside(hand, partial) : undefined;
    return {
      reached: targets.length === 0 ? targets : await ruleTargets(hand, targets),
      log: lines.length === 0 ? lines : await ruleLines(hand, lines),
      payloadExtras: kept === undefined ? undefined : { partial: kept },
    };
  }

  /** Its end is kept: whatever the body still gives is late, and so is what it gave meanwhile. */
  over(): void {
    this.#isOver = true;
    for (const { end, elapsedMs } of this.#late) this.#comesLate(end, elapsedMs);
    this.#late = [];
  }

  #comesLate(end: BodyEnd, elapsedMs: number): void {
    if (this.#isOver) appendLate(this.#hand, end, elapsedMs, this.#attempt);
    else this.#late.push({ end, elapsedMs });
  }
}

/** A body that ends just before its deadline leaves this much time to check what it gave. */
const judgementGraceMs = 50;

/** The end of a body whose judgement ran out of time. No rule and no check is asked about it. */
function outOfTime(hand: CallInHand, end: AttemptEnd, { elapsedMs, deadlineMs }: AttemptFacts): Judgement {
  const { knownTool: tool, request } = hand;
  const finished = end.type === 'returned';
  const { retryOnTimeout, mayRerun } = tool;
  const repeat = finished
    ? {
        retryable: mayRerun && retryOnTimeout,
        ...(!mayRerun && retryOnTimeout && { blocksTool: false as const }),
        finished: true as const,
      }
    : repeatOf(tool, { code: 'tool.timeout', retryable: retryOnTimeout });
  const outcome: ToolOutcome =
    end.type === 'cancelled'
      ? unknownEnd(hand, hand.modelNote(), 'The call was cancelled while the tool was running')
      : Object.freeze({
          type: 'ToolTimeout',
          callId: request.id,
          toolName: tool.name,
          code: 'tool.timeout',
          deadlineMs,
          ...repeat,
          elapsedMs,
          payloadExtras: freezeJson(inputExtra(hand)),
          ...hand.modelNote(),
        });
  return { outcome, content: outcomeToModelContent(outcome), toolSuccess: undefined, authorSaysRetry: false };
}
