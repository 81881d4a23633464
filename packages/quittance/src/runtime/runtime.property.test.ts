import fc from 'fast-check';
import type { PendingCall, ToolCallInput, ToolOutcome, Turn } from 'quittance';
import type { ConfirmationAnswer } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import {
  createRuntime,
  defineTool,
  denialReasons,
  isQuittanceError,
  outcomeToModelContent,
  ToolDecision,
  ToolError,
  toolResult,
} from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { eventsOf, expectSettledOnce, quiet } from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

/** What a body does, by the word in its arguments. */
const behaviors = {
  return: () => ({ ok: true }),
  later: () => quiet().then(() => 'later'),
  slow: (clock: ManualClock) => new Promise((resolve) => clock.startTimer(() => resolve('slow'), 80)),
  never: () => new Promise(() => undefined),
  throw: () => Promise.reject(new Error('broken')),
  report: () => ({ error: 'reported' }),
  network: () => Promise.reject(new ToolError('tool.network_error', 'offline', { retryable: true })),
  wrong: () => 10n,
  long: () => 'x'.repeat(2_000),
  block: (clock: ManualClock) => {
    clock.advance(60);
    return 'blocked the thread';
  },
  finish: () => toolResult({ success: true, terminal: true }),
} satisfies Record<string, (clock: ManualClock) => unknown>;
type Behavior = keyof typeof behaviors;

const names = ['get_it', 'set_it', 'pay', 'keyed', 'delete_it', 'nope'] as const;

const call = fc.record({
  id: fc.integer({ min: 0, max: 11 }).map((n) => `c${n}`),
  name: fc.constantFrom(...names),
  does: fc.constantFrom(...(Object.keys(behaviors) as Behavior[])),
  variant: fc.integer({ min: 0, max: 1 }),
  stop: fc.constantFrom('no', 'no', 'no', 'block', 'ask', 'throw'),
});
type GivenCall = typeof call extends fc.Arbitrary<infer Value> ? Value : never;

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('call' as const), call, wait: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('batch' as const), calls: fc.array(call, { maxLength: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('submit' as const), call }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cancel' as const),
      id: fc.integer({ min: 0, max: 11 }).map((n) => `c${n}`),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 120 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      decision: fc.constantFrom('approve' as const, 'deny' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('turn' as const), timeoutMs: fc.integer({ min: 1, max: 200 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), withdraw: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('jump' as const), toMs: fc.integer({ min: 0, max: 10_000_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('break' as const), appends: fc.integer({ min: 1, max: 3 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const envelopeOf = ({ id, name, does, variant, stop }: GivenCall): ToolCallInput => ({
  id,
  name,
  arguments: { does, variant, stop },
});

/** One random life of a runtime: the outcome of each call, and how often each body ran. */
class Life {
  readonly clock: ManualClock = createManualClock();
  readonly ledger: OpenLedger;
  readonly reply: ToolOutcome[] = [];
  readonly runs = new Map<string, number>();
  readonly questions: ((answer: ConfirmationAnswer) => void)[] = [];
  readonly #waiting = new Set<Promise<unknown>>();
  readonly #runtime;
  #turn: Turn;
  #failing = 0;

  /** `slow`: the ledger answers later, so that other events can happen meanwhile. */
  constructor(slow: boolean) {
    const { clock } = this;
    const inner = createMemoryLedger({ clock });
    const later = <Input extends readonly unknown[], Output>(act: (...input: Input) => Output) =>
      slow ? (((...input: Input) => Promise.resolve().then(() => act(...input))) as typeof act) : act;
    this.ledger = alterLedger(inner, {
      append: later((entry) => {
        if (this.#failing > 0 && this.#failing-- > 0) throw new Error('disk full');
        return inner.append(entry);
      }),
      readCall: later((sessionId, callId) => inner.readCall(sessionId, callId)),
      rows: {
        claims: later((query) => inner.query('claims', query)),
        counters: later((query) => inner.query('counters', query)),
        unsettled: later((query) => inner.query('unsettled', query)),
      },
      putArtifact: later((artifact) => inner.putArtifact(artifact)),
      readArtifact: later((...asked) => inner.readArtifact(...asked)),
    });
    const run = ({ does }: { does?: unknown }, { callId }: { callId: string }): unknown => {
      this.runs.set(callId, (this.runs.get(callId) ?? 0) + 1);
      return behaviors[does as Behavior](clock);
    };
    const traits = { timeoutMs: 50, inlineLimit: 1_000, run };
    this.#runtime = createRuntime({
      clock,
      ledger: this.ledger,
      cancelGraceMs: 20,
      tools: [
        defineTool({ name: 'get_it', ...traits }),
        defineTool({ name: 'set_it', idempotent: true, ...traits }),
        defineTool({ name: 'pay', ...traits }),
        defineTool({ name: 'keyed', idempotencyKey: ({ variant }) => `k${variant as number}`, ...traits }),
        defineTool({ name: 'delete_it', ...traits }),
      ],
      budgets: [{ scope: 'session', toolCalls: 15 }],
      onPreToolUse: ({ arguments: { stop } }) => {
        if (stop === 'throw') throw new Error('hook broke');
        if (stop === 'block') return ToolDecision.block('stopped');
        return stop === 'ask' ? ToolDecision.requiresConfirmation('sure?') : ToolDecision.allow;
      },
      onConfirm: () => new Promise((resolve) => this.questions.push(resolve)),
    });
    this.#turn = this.#runtime.turn({ sessionId: 's' });
  }

  get runtime() {
    return this.#runtime;
  }

  #watch(asked: Promise<ToolOutcome | readonly (ToolOutcome | PendingCall)[]>): void {
    const watched: Promise<unknown> = asked
      .then(
        (answer) => {
          const answers = Array.isArray(answer)
            ? (answer as readonly (ToolOutcome | PendingCall)[])
            : [answer];
          for (const each of answers as readonly (ToolOutcome | PendingCall)[])
            if (each.type !== 'pending') this.reply.push(each);
        },
        (error: unknown) => {
          if (!isQuittanceError(error, 'call.pending')) throw error;
        },
      )
      .finally(() => this.#waiting.delete(watched));
    this.#waiting.add(watched);
  }

  async take(next: Step): Promise<void> {
    switch (next.do) {
      case 'call':
        this.#watch(this.#turn.call(envelopeOf(next.call)));
        if (next.wait) await quiet();
        return;
      case 'batch':
        return this.#watch(this.#turn.callAll(next.calls.map(envelopeOf)));
      case 'submit':
        return this.#watch(this.#turn.submit(envelopeOf(next.call)).outcome());
      case 'cancel':
        return void this.#turn.cancel(next.id);
      case 'advance':
        await quiet();
        return this.clock.advance(next.ms);
      case 'answer':
        await quiet();
        return this.questions.shift()?.({ decision: next.decision, by: 'ada' });
      case 'turn':
        this.#turn = this.#runtime.turn({ sessionId: 's', timeoutMs: next.timeoutMs });
        return;
      case 'end':
        return this.#turn.end({ withdraw: next.withdraw }).catch(() => undefined);
      case 'jump':
        return this.clock.jumpTo(next.toMs);
      case 'break':
        this.#failing = next.appends;
    }
  }

  /** Answers every question and advances the clock until nothing is pending. */
  async finish(ids: Iterable<GivenCall>): Promise<void> {
    this.#failing = 0;
    const settle = async (): Promise<void> => {
      for (let round = 0; this.#waiting.size > 0; round++) {
        if (round > 200) throw new Error(`${this.#waiting.size} calls wait for ever`);
        await quiet();
        for (const answer of this.questions.splice(0)) answer({ decision: 'deny', by: 'ada' });
        this.clock.advance(1_000);
      }
    };
    await settle();
    await quiet();
    // Repeats calls that the ledger could not store.
    this.#turn = this.#runtime.turn({ sessionId: 's' });
    for (const given of ids) this.#watch(this.#turn.call(envelopeOf(given)));
    await settle();
    await this.#runtime.close();
  }
}

const callsIn = (steps: readonly Step[]): GivenCall[] =>
  steps.flatMap((each) =>
    each.do === 'call' || each.do === 'submit' ? [each.call] : each.do === 'batch' ? each.calls : [],
  );

async function active(steps: readonly Step[], slow: boolean): Promise<Life> {
  const life = new Life(slow);
  for (const each of steps) await life.take(each);
  await life.finish(callsIn(steps));
  return life;
}

const isOfItsTable = (outcome: ToolOutcome): boolean =>
  outcome.type !== 'ToolDenied' || denialReasons[outcome.reason].codes.includes(outcome.code);

/** A conflict answers only its request, and a call that was "not accepted" may be repeated. */
const answersOnlyTheRequest = (outcome: ToolOutcome): boolean =>
  'code' in outcome && ['call.conflict', 'ledger.unavailable'].includes(outcome.code);

async function expectLawful(life: Life): Promise<void> {
  const { runtime, reply, runs } = life;
  await expectSettledOnce(runtime);
  const kept = new Map((await runtime.calls.list({ sessionId: 's' })).map((each) => [each.callId, each]));
  for (const outcome of reply) {
    expect(JSON.parse(outcomeToModelContent(outcome))).toBeDefined();
    expect([outcome, isOfItsTable(outcome)]).toEqual([outcome, true]);
  }
  const answers = reply.filter((outcome) => !answersOnlyTheRequest(outcome));
  expect(answers.map(({ callId }) => kept.get(callId)?.settled?.outcome)).toEqual(answers);
  const started = await eventsOf(runtime, 'tool.started');
  expect(Object.fromEntries(runs)).toEqual(Object.fromEntries(started.map(({ callId }) => [callId, 1])));
  expect(started.length).toBeLessThanOrEqual(15);
}

describe('whatever happens to calls, in any order and at once', () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 25 });

  it('each ends in one outcome, returned as stored, with its records in order and its body run once', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps.map((each) => each.filter((one) => one.do !== 'break')),
        fc.boolean(),
        async (each, slow) => expectLawful(await active(each, slow)),
      ),
      { numRuns: 300 },
    );
  });

  it('each does so even if the ledger fails now and then', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (each, slow) => expectLawful(await active(each, slow))),
      { numRuns: 300 },
    );
  });
});
