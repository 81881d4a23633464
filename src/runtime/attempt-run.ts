/** One attempt of a call, from its body to the judgement of what that gave. */
import { outcomeIsError } from '../call/outcome.ts';
import { cutText } from '../tool/cut-text.ts';
import type { BodyEnd } from './attempt.ts';
import { runBody } from './attempt.ts';
import { BodyContext } from './body-context.ts';
import type { CallInHand } from './call-in-hand.ts';
import { judgeEnd } from './judge.ts';
import type { AttemptFacts, Judgement } from './judgement.ts';
import { fail } from './judgement.ts';
import { appendLate } from './late.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { ruleBeside, ruleLines, ruleTargets } from './rule-beside.ts';
import type { Attempt } from './settle.ts';
import type { AttemptTerms } from './try-again.ts';

export class AttemptRun {
  readonly #hand: CallInHand;
  readonly #bounds: AttemptTerms;
  readonly #attempt: number;
  readonly #context: BodyContext;
  #late: { readonly end: BodyEnd; readonly elapsedMs: number }[] = [];
  #isOver = false;

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
    const startedAtMs = engine.clock.monotonicMs();
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
    return judged instanceof Promise ? keptOrDoubtful(hand, judged, facts) : judged;
  }

  /** What is kept of it beside its end. */
  async kept({ outcome }: Judgement): Promise<Attempt> {
    const { targets, lines, partial, chargedMicros } = this.#context;
    const hand = this.#hand;
    // Failures and timeouts have extras of their own.
    const kept =
      partial !== undefined && !outcomeIsError(outcome) ? await ruleBeside(hand, partial) : undefined;
    return {
      costMicros: (chargedMicros ?? hand.costMicros) + hand.lostCostMicros,
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

/**
 * An output that could not be judged or kept aside: the effect happened and its result is gone. A check that never
 * answers holds nobody up longer than a body may.
 */
async function keptOrDoubtful(
  hand: CallInHand,
  judged: Promise<Judgement>,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { deadlines, defaultTimeoutMs } = hand.engine;
  const tooLong = Promise.withResolvers<undefined>();
  const watch = deadlines.watch(defaultTimeoutMs, () => tooLong.resolve(undefined));
  let problem = 'but nobody said in time whether it succeeded.';
  try {
    const judgement = await Promise.race([judged, tooLong.promise]);
    if (judgement !== undefined) return judgement;
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    problem = `but its output could not be kept: ${cutText(error.message, 500)}`;
  } finally {
    watch.stop();
  }
  return fail(
    hand,
    { code: 'tool.indeterminate', error: `The tool ran, ${problem}`, retryable: false },
    facts,
  );
}
