/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
/** Retries during closing runtimes, changing rules, dying processes, hostile predicates and clock jumps. */
import type { AnyTool, JsonObject, Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { question, yes } from '../people/question.ts';
import { createMortalLedger } from '../mortal-ledger.ts';
import { documentOf } from '../sample-policy.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { readCounters } from '../../packages/quittance/src/ledger/reads.ts';

const slow = retry({ initialMs: 60_000, maxMs: 60_000, jitter: 0 });
const noRoute = (): never => {
  throw new ToolError('tool.network_error', 'no route');
};
const broken = defineTool({ name: 'get_it', mode: 'read', run: noRoute });

/** Lets all pending work finish. */
const settle = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await quiet();
};

describe('a predicate of a retry behavior', () => {
  it('a predicate of a retry behavior that throws leaves a failure, and the call ends as without it', async () => {
    const { runtime, turn } = setStage({ tools: [broken] });
    runtime.events.on(
      {
        name: 'mine',
        on: 'tool.responded',
        retries: true,
        where: {
          attempt: () => {
            throw new TypeError('cannot compare');
          },
        },
      },
      (_, context) => context.retry(),
    );
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({ code: 'tool.network_error' });
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([
      { behavior: 'mine', reason: 'behavior.error', message: 'cannot compare', triggeringCallId: 'c' },
    ]);
    await expectSettledOnce(runtime);
  });

  it('a predicate of a retry behavior that writes to the event changes nothing stored or returned', async () => {
    const { runtime, turn } = setStage({ tools: [broken] });
    runtime.events.on(
      {
        name: 'mine',
        on: 'tool.responded',
        retries: true,
        where: {
          outcome: (outcome, event) => {
            for (const [target, key, value] of [
              [event, 'final', true],
              [event, 'content', 'all is well'],
              [event, 'costMicros', 7],
              [event, 'error', undefined],
              [outcome, 'error', 'all is well'],
            ] as const)
              Reflect.set(target as object, key, value);
            return true;
          },
        },
      },
      () => undefined,
    );
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect(outcome).toMatchObject({ code: 'tool.network_error', error: 'no route' });
    const ends = await eventsOf(runtime, 'tool.responded');
    expect(ends).toMatchObject([
      { final: false, costMicros: 0, error: { reason: 'tool.network_error' } },
      { final: true, costMicros: 0, error: { reason: 'tool.network_error' } },
    ]);
    await expectSettledOnce(runtime);
  });
});

describe('while a retry behavior decides', () => {
  const undecided = (runtime: Runtime, signals: AbortSignal[]): void => {
    runtime.events.on(
      { name: 'mine', on: 'tool.responded', retries: true, timeoutMs: 3_600_000 },
      (_, context) => {
        signals.push(context.signal);
        return new Promise(() => undefined);
      },
    );
  };

  it('a runtime that closes does not wait for it', async () => {
    const { runtime, turn } = setStage({ tools: [broken] });
    const signals: AbortSignal[] = [];
    undecided(runtime as never, signals);
    const asked = turn.call(envelope('c', 'get_it'));
    await settle();
    await runtime.close();
    expect(await asked).toMatchObject({ code: 'tool.network_error' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await expectSettledOnce(runtime);
  });

  it('a cancelled call ends at once with its last failure', async () => {
    const { runtime, turn } = setStage({ tools: [broken] });
    const signals: AbortSignal[] = [];
    undecided(runtime as never, signals);
    const asked = turn.call(envelope('c', 'get_it'));
    await settle();
    turn.cancel('c');
    expect(await asked).toMatchObject({ code: 'tool.network_error' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await expectSettledOnce(runtime);
  });
});

it('a retry behavior delays no call beyond its turn', async () => {
  const { runtime, clock } = setStage({ tools: [broken] });
  runtime.events.on(
    { name: 'mine', on: 'tool.responded', retries: true },
    () => new Promise(() => undefined),
  );
  const asked = runtime.turn({ sessionId: 's', timeoutMs: 1_000 }).call(envelope('c', 'get_it'));
  await settle();
  clock.advance(1_000);
  expect(await asked).toMatchObject({ code: 'tool.network_error' });
  await expectSettledOnce(runtime);
});

describe('rules that change between two attempts', () => {
  const text = (rules: readonly JsonObject[], more: JsonObject = {}): string =>
    JSON.stringify(documentOf(rules, more));
  const pre = (action: string): JsonObject => ({
    id: `r-${action}`,
    type: 'pre',
    tool: '*',
    when: { 'tool.name': { exists: true } },
    then: { action, message: 'not any more' },
  });
  const calm: JsonObject = {
    id: 'calm',
    type: 'post',
    tool: '*',
    when: { 'output.text': { contains: 'never there' } },
    then: { action: 'warn', message: 'odd' },
  };

  /** How often the body runs if its first attempt fails and then other rules come into force. */
  const runsUnder = async (
    after: string,
    tool: Partial<Parameters<typeof defineTool>[0]>,
    retryable?: boolean,
  ): Promise<{ readonly runs: number; readonly log: string }> => {
    let runs = 0;
    const contracts = contractsFromYamlString(text([calm]));
    const { runtime, turn, clock } = setStage({
      contracts,
      behaviors: [slow],
      tools: [
        defineTool({
          name: 'post_it',
          mode: 'external',
          ...tool,
          run: () => {
            if (runs++ > 0) return 'done';
            throw new ToolError(
              'tool.network_error',
              'no route',
              retryable === undefined ? {} : { retryable },
            );
          },
        }),
      ],
    });
    const asked = turn.call(envelope('c', 'post_it'));
    await settle();
    contracts.reload(after);
    clock.advance(60_000);
    await asked;
    await expectSettledOnce(runtime);
    const end = (await eventsOf(runtime, 'tool.responded')).at(-1);
    return { runs, log: end?.log.map(({ message }) => message).join() ?? '' };
  };

  const harmless = text([{ ...calm, id: 'other' }]);
  const withdrawn = text([calm], { tools: { post_it: { side_effect: 'write', idempotent: false } } });

  it('rules that change between two attempts and rule the same allow a retry', async () => {
    expect(await runsUnder(harmless, { idempotent: true })).toMatchObject({ runs: 2 });
  });

  it('rules that change between two attempts and do not mention the call leave the body’s statement about its failure in force', async () => {
    expect(await runsUnder(harmless, {}, true)).toMatchObject({ runs: 2 });
  });

  it.each([
    ['block it', text([calm, pre('block')]), /rules that came since would stop it/],
    ['ask a person', text([calm, pre('ask')]), /rules that came since would ask a person/],
    ['withdraw that it may run twice', withdrawn, /rules no longer allow a second run/],
  ])('rules that change between two attempts and %s end it with its last failure', async (_, after, why) => {
    const { runs, log } = await runsUnder(after, { idempotent: true });
    expect(runs).toBe(1);
    expect(log).toMatch(why);
  });
});

it.each([
  ['the same rule', 'A payment.', 2],
  ['a rule of the same id that says something else', 'Now I mean it.', 1],
])(
  'a call that a person approved is retried under %s only if that is what the person read',
  async (_, message, runs) => {
    const rule = (said: string, more: readonly JsonObject[] = []): string =>
      JSON.stringify(
        documentOf([
          {
            id: 'big',
            type: 'pre',
            tool: 'post_it',
            when: { 'args.cents': { gt: 100 } },
            then: { action: 'ask', message: said },
          },
          ...more,
        ]),
      );
    const other: JsonObject = {
      id: 'other',
      type: 'pre',
      tool: 'elsewhere',
      when: { 'args.x': { exists: true } },
      then: { action: 'block', message: 'no' },
    };
    let ran = 0;
    const contracts = contractsFromYamlString(rule('A payment.'));
    const { runtime, turn, clock } = setStage({
      contracts,
      behaviors: [slow],
      tools: [
        defineTool({
          name: 'post_it',
          mode: 'external',
          idempotent: true,
          run: () => (ran++ === 0 ? noRoute() : 'done'),
        }),
      ],
    });
    const asked = turn.call(envelope('c', 'post_it', { cents: 500 }));
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await settle();
    contracts.reload(rule(message, [other]));
    clock.advance(60_000);
    await asked;
    expect(ran).toBe(runs);
    await expectSettledOnce(runtime);
  },
);

it('a late result between two attempts is stored at once', async () => {
  const clock = createManualClock();
  const late = deferred<unknown>();
  const tool = defineTool({ name: 'get_it', mode: 'read', timeoutMs: 100, run: () => late.promise });
  const { runtime, turn } = setStage({ tools: [tool], behaviors: [slow], clock });
  const asked = turn.call(envelope('c', 'get_it'));
  await quiet();
  clock.advance(100);
  await settle();
  late.resolve('first');
  await settle();
  expect(await eventsOf(runtime, 'tool.late')).toMatchObject([{ attempt: 1 }]);
  turn.cancel('c');
  await asked;
  await expectSettledOnce(runtime);
});

it('a clock that is set back does not delay a retry', async () => {
  let runs = 0;
  const tool = defineTool({
    name: 'get_it',
    mode: 'read',
    run: () => (runs++ === 0 ? noRoute() : 'done'),
  });
  const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [slow] });
  const asked = turn.call(envelope('c', 'get_it'));
  await settle();
  clock.jumpTo(clock.now() - 86_400_000);
  clock.advance(60_000);
  await settle();
  expect(runs).toBe(2);
  expect(await asked).toMatchObject({ output: 'done' });
  await expectSettledOnce(runtime);
});

it('a retry behavior that failed does not get its event again, and a request for that gets an error', async () => {
  const { runtime, turn } = setStage({ tools: [broken] });
  runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, () => {
    throw new ToolError('tool.timeout', 'no answer from the switchboard');
  });
  const again = runtime.events.on(
    { name: 'again', on: 'behavior.failed', where: { behavior: 'mine' } },
    ({ triggeringEventId }, context) =>
      context.emit('retry.requested', { forEvent: triggeringEventId, attempt: 2 }),
  );
  await turn.call(envelope('c', 'get_it'));
  await again.caughtUp();
  expect(await eventsOf(runtime, 'retry.requested')).toEqual([]);
  expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([
    { behavior: 'mine', reason: 'tool.timeout' },
    {
      behavior: 'again',
      reason: 'behavior.error',
      message: expect.stringContaining('has ended without it') as string,
    },
  ]);
});

describe('a turn that ends', () => {
  it('a turn that ends while one of its calls waits for a retry ends the call with its last failure, at once', async () => {
    const { runtime, turn } = setStage({ tools: [broken], behaviors: [slow] });
    const asked = turn.call(envelope('c', 'get_it'));
    await settle();
    await turn.end();
    expect(await asked).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(await eventsOf(runtime, 'tool.started')).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('a turn that ends while a behavior decides about a retry no longer waits for it', async () => {
    const { runtime, turn } = setStage({ tools: [broken] });
    const entered = deferred<AbortSignal>();
    runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, (_, { signal }) => {
      entered.resolve(signal);
      return new Promise(() => undefined);
    });
    const asked = turn.call(envelope('c', 'get_it'));
    const signal = await entered.promise;
    await turn.end();
    expect(await asked).toMatchObject({ code: 'tool.network_error' });
    expect(signal.aborted).toBe(true);
    await expectSettledOnce(runtime);
  });

  it('a turn that ends while the body runs lets it end, and does not retry it', async () => {
    const entered = deferred();
    const failing = deferred();
    const tool = defineTool({
      name: 'get_it',
      mode: 'read',
      run: async () => {
        entered.resolve();
        await failing.promise;
        return noRoute();
      },
    });
    const { runtime, turn } = setStage({ tools: [tool], behaviors: [slow] });
    const asked = turn.call(envelope('c', 'get_it'));
    await entered.promise;
    await turn.end();
    failing.resolve();
    expect(await asked).toMatchObject({ code: 'tool.network_error' });
    expect(await eventsOf(runtime, 'tool.responded')).toMatchObject([
      { final: true, log: [{ message: expect.stringContaining('its turn has ended') as string }] },
    ]);
    await expectSettledOnce(runtime);
  });

  it('leaves an approved call alone: it is retried as usual', async () => {
    let runs = 0;
    const tool = defineTool({
      name: 'wipe',
      mode: 'destructive',
      idempotent: true,
      run: () => (runs++ === 0 ? noRoute() : 'wiped'),
    });
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [slow] });
    const asked = turn.call(envelope('c', 'wipe'));
    await settle();
    await turn.end();
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    await runtime.confirmations.decide(question?.confirmationId ?? '', {
      decision: 'approve',
      by: 'Ada',
      inputDigest: question?.inputDigest ?? '',
    });
    await settle();
    clock.advance(60_000);
    expect(await asked).toMatchObject({ output: 'wiped' });
    expect(runs).toBe(2);
    await expectSettledOnce(runtime);
  });
});

describe('a call that another process continues', () => {
  /** A runtime that is killed while the call waits for a retry, and the ledger it leaves. */
  const leftBetweenAttempts = async (
    tool: Parameters<typeof createRuntime>[0]['tools'][number],
    budgets?: readonly { scope: string; costMicros: number }[],
  ): Promise<{ ledger: OpenLedger; other: OpenLedger; clock: ReturnType<typeof createManualClock> }> => {
    const clock = createManualClock();
    const mortal = createMortalLedger(clock);
    const first = mortal.open();
    const one = createRuntime({ tools: [tool], ledger: first.ledger, clock, behaviors: [slow] });
    void one.turn({ sessionId: 's', ...(budgets && { budgets }) }).call(envelope('c', tool.name));
    await settle();
    first.kill();
    return { ledger: mortal.open().ledger, other: mortal.open().ledger, clock };
  };

  /** Lets runtimes continue what they find, and advances the clock that they wait for. */
  const recover = async (
    runtimes: readonly { recover(): Promise<unknown> }[],
    clock: ReturnType<typeof createManualClock>,
  ): Promise<void> => {
    const recovering = Promise.all(runtimes.map((runtime) => runtime.recover()));
    for (let n = 0; n < 5; n++) {
      await settle();
      clock.advance(60_000);
    }
    await recovering;
  };

  /** The call after another runtime with the tool has ended it. */
  const goneOnWith = async (
    tool: AnyTool,
    { ledger, clock }: Pick<Awaited<ReturnType<typeof leftBetweenAttempts>>, 'ledger' | 'clock'>,
  ): Promise<void> => {
    const two = createRuntime({ tools: [tool], ledger, clock, behaviors: [slow] });
    await recover([two], clock);
    await expectSettledOnce(two);
  };

  const getOnce = (): { tool: AnyTool; runs: () => number } => {
    let runs = 0;
    const run = (): string => (runs++ === 0 ? noRoute() : 'done');
    return { tool: defineTool({ name: 'get_it', mode: 'read', run }), runs: () => runs };
  };

  it('is not retried if its tool no longer allows a rerun', async () => {
    let runs = 0;
    const tool = (idempotent: boolean) =>
      defineTool({
        name: 'post_it',
        mode: 'external',
        idempotent,
        run: () => {
          runs++;
          return noRoute();
        },
      });
    await goneOnWith(tool(false), await leftBetweenAttempts(tool(true)));
    expect(runs).toBe(1);
  });

  it('is retried if the tool’s author declared a retry after that failure safe', async () => {
    let runs = 0;
    const tool = defineTool({
      name: 'post_it',
      mode: 'external',
      run: () => {
        if (runs++ === 0) throw new ToolError('tool.network_error', 'at the door', { retryable: true });
        return 'posted';
      },
    });
    await goneOnWith(tool, await leftBetweenAttempts(tool));
    expect(runs).toBe(2);
  });

  it('is not retried if the budget of its turn is no longer known', async () => {
    let runs = 0;
    const tool = defineTool({
      name: 'get_it',
      mode: 'read',
      costMicros: 60,
      run: () => {
        runs++;
        return noRoute();
      },
    });
    const { ledger, clock } = await leftBetweenAttempts(tool, [{ scope: 'user:42', costMicros: 100 }]);
    await goneOnWith(tool, { ledger, clock });
    expect(runs).toBe(1);
    expect(await readCounters(ledger, ['named/"user:42"/cost_micros'])).toEqual([{ used: 60, reserved: 0 }]);
  });

  it('is left by runtimes without its tool to those that have it', async () => {
    const { tool, runs } = getOnce();
    const { ledger, other, clock } = await leftBetweenAttempts(tool);
    const without = createRuntime({ tools: [], ledger: other, clock, behaviors: [slow] });
    expect(await without.recover()).toMatchObject([{ callId: 'c', how: 'left' }]);
    const asked = without.turn({ sessionId: 's' }).call(envelope('c', 'get_it'));
    await goneOnWith(tool, { ledger, clock });
    expect(runs()).toBe(2);
    expect(await asked).toMatchObject({ output: 'done' });
  });

  it('ends with its last failure if no runtime with its tool appears within an hour', async () => {
    const { tool, runs } = getOnce();
    const { ledger, clock } = await leftBetweenAttempts(tool);
    const without = createRuntime({ tools: [], ledger, clock, behaviors: [slow] });
    const asked = without.turn({ sessionId: 's' }).call(envelope('c', 'get_it'));
    await settle();
    for (let n = 0; n < 3; n++) {
      clock.advance(3_600_000);
      await settle();
    }
    expect(await asked).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(runs()).toBe(1);
    await expectSettledOnce(without);
  });

  it('is retried by one of two runtimes that share its ledger', async () => {
    const { tool, runs } = getOnce();
    const { ledger, clock } = await leftBetweenAttempts(tool);
    const both = [1, 2].map(() => createRuntime({ tools: [tool], ledger, clock, behaviors: [slow] }));
    await recover(both, clock);
    expect(runs()).toBe(2);
    await expectSettledOnce(both[0] as Runtime);
  });
});

describe('a behavior that calls tools', () => {
  it('a behavior that calls tools and gets its event again rejoins the call that is still held', async () => {
    const get = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });
    let runs = 0;
    const pay = defineTool({ name: 'pay', mode: 'local', run: () => ++runs });
    const { runtime, turn } = setStage({ tools: [get, pay] });
    const payer = runtime.events.on(
      { name: 'payer', on: 'tool.responded', where: { callId: 'a' }, timeoutMs: 1_000 },
      async (_, context) => {
        if (context.attempt === 1) {
          void context.call({ name: 'pay', arguments: { amount: 1 } });
          throw new Error('not now');
        }
        await context.call({ name: 'pay', arguments: { amount: 1 } });
      },
    );
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (event, context) => {
      if (event.attempt === 1) context.retry();
    });
    await turn.call(envelope('a', 'get_it'));
    await payer.caughtUp().catch(() => undefined);
    await again.caughtUp();
    await settle();
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    expect(rows).toHaveLength(1);
  });

  it('a behavior that calls tools and does not await a failing call does not crash the process', async () => {
    const get = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });
    const fails = defineTool({ name: 'get_none', mode: 'read', run: noRoute });
    const unhandled: unknown[] = [];
    const listen = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', listen);
    const { runtime, turn } = setStage({ tools: [get, fails] });
    const careless = runtime.events.on(
      { name: 'careless', on: 'tool.responded', where: { callId: 'a' } },
      (_, context) => void context.call({ name: 'get_none', arguments: {} }),
    );
    await turn.call(envelope('a', 'get_it'));
    await careless.caughtUp();
    await settle();
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });
});
