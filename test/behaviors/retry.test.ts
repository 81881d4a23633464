/** Retries: a behavior makes the same call run again, if its tool allows it. */
import type { AnyTool, ReasonCode } from 'quittance';
import type { Behavior } from 'quittance/events';
import { defineTool, retry, ToolError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import {
  auditKinds,
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../stage.ts';
import { readCounters } from '../../packages/quittance/src/ledger/reads.ts';

/** A tool that fails for the given reasons, one at a time, and then succeeds. */
function flaky(
  reasons: readonly ReasonCode[],
  traits: Partial<Parameters<typeof defineTool>[0]> = { mode: 'read' },
): { readonly tool: AnyTool; readonly keys: string[]; readonly attempts: number[] } {
  const left = [...reasons];
  const keys: string[] = [];
  const attempts: number[] = [];
  const tool = defineTool({
    name: 'fetch_rates',
    ...traits,
    run: (_: unknown, context) => {
      keys.push(context.idempotencyKey);
      attempts.push(context.attempt);
      const reason = left.shift();
      if (reason !== undefined) throw new ToolError(reason, `failed with ${reason}`);
      return { rate: 1.1 };
    },
  });
  return { tool, keys, attempts };
}

/** Advances the clock until the call returns. */
async function settled<Value>(clock: { advance(ms: number): void }, asked: Promise<Value>): Promise<Value> {
  let done = false;
  void asked.then(
    () => (done = true),
    () => (done = true),
  );
  for (let n = 0; n < 200 && !done; n++) {
    await quiet();
    if (!done) clock.advance(50);
  }
  return asked;
}

describe('a call that fails for a temporary reason', () => {
  it('is retried, and its caller gets one outcome, after the last attempt', async () => {
    const { tool, keys, attempts } = flaky(['tool.network_error', 'tool.timeout']);
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [retry()] });
    const outcome = await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: { rate: 1.1 } });
    expect(attempts).toEqual([1, 2, 3]);
    expect(new Set(keys)).toEqual(new Set(['s/c']));
    expect(await eventTypes(runtime, 'c')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.responded',
      'retry.requested',
      'tool.started',
      'tool.responded',
      'retry.requested',
      'tool.started',
      'tool.responded',
    ]);
    const ends = await eventsOf(runtime, 'tool.responded');
    expect(ends.map(({ attempt, final, error }) => [attempt, final, error?.reason])).toEqual([
      [1, false, 'tool.network_error'],
      [2, false, 'tool.timeout'],
      [3, true, undefined],
    ]);
    expect(await auditKinds(runtime, 'c')).toEqual(['completed']);
    await expectSettledOnce(runtime);
  });

  it('has every attempt in the trace with its cause', async () => {
    const { tool } = flaky(['tool.network_error']);
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [retry({ name: 'again' })] });
    await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    const [first] = await eventsOf(runtime, 'tool.responded');
    const [asked] = await eventsOf(runtime, 'retry.requested');
    const [, second] = await eventsOf(runtime, 'tool.started');
    expect(asked).toMatchObject({ forEvent: first?.id, cause: first?.id, attempt: 2, by: 'again' });
    expect(second).toMatchObject({ cause: asked?.id, attempt: 2 });
  });

  it('ends with its last failure when the attempts are used up, returned once', async () => {
    const { tool, attempts } = flaky(Array.from({ length: 9 }, () => 'tool.network_error' as const));
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [retry({ attempts: 4 })] });
    const outcome = await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(attempts).toEqual([1, 2, 3, 4]);
    const ends = await eventsOf(runtime, 'tool.responded');
    // A fifth attempt could not be requested, so the fourth is final at once.
    expect(ends.map(({ attempt, final }) => [attempt, final])).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, true],
    ]);
    await expectSettledOnce(runtime);
  });

  it('waits longer each time, up to the maximum, by the injected clock', async () => {
    const { tool } = flaky(Array.from({ length: 6 }, () => 'tool.network_error' as const));
    const { runtime, turn, clock } = setStage({
      tools: [tool],
      behaviors: [retry({ attempts: 6, initialMs: 100, factor: 3, maxMs: 1_000, jitter: 0 })],
    });
    await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    const asked = await eventsOf(runtime, 'retry.requested');
    expect(asked.map(({ notBefore, at }) => (notBefore ?? 0) - at)).toEqual([100, 300, 900, 1_000, 1_000]);
    const started = await eventsOf(runtime, 'tool.started');
    for (const [index, { notBefore }] of asked.entries())
      expect(started[index + 1]?.at).toBeGreaterThanOrEqual(notBefore ?? 0);
  });

  it('is spread by jitter within its bounds, so that calls that fail together are retried apart', async () => {
    const { tool } = flaky(Array.from({ length: 20 }, () => 'tool.network_error' as const));
    const { runtime, turn, clock } = setStage({
      tools: [tool],
      behaviors: [retry({ attempts: 2, initialMs: 1_000, jitter: 0.5 })],
    });
    await settled(
      clock,
      Promise.all(Array.from({ length: 10 }, (_, n) => turn.call(envelope(`c${n}`, 'fetch_rates', { n })))),
    );
    const waits = (await eventsOf(runtime, 'retry.requested')).map(
      ({ notBefore, at }) => (notBefore ?? 0) - at,
    );
    expect(waits).toHaveLength(10);
    expect(new Set(waits).size).toBeGreaterThan(5);
    for (const wait of waits) {
      expect(wait).toBeGreaterThanOrEqual(500);
      expect(wait).toBeLessThanOrEqual(1_000);
    }
  });

  it('is retried with the settings of its tool', async () => {
    const fetching = flaky(['tool.network_error', 'tool.network_error', 'tool.network_error']);
    const other = flaky(['tool.network_error'], { name: 'get_other', mode: 'read' });
    const picky = flaky(['tool.execution_error'], { name: 'get_picky', mode: 'read' });
    const { turn, clock } = setStage({
      tools: [fetching.tool, other.tool, picky.tool],
      behaviors: [
        retry({
          tools: {
            fetch_rates: { attempts: 4 },
            get_other: false,
            get_picky: { reasons: ['tool.execution_error'] },
          },
        }),
      ],
    });
    const outcomes = await settled(
      clock,
      Promise.all(['fetch_rates', 'get_other', 'get_picky'].map((name) => turn.call(envelope(name, name)))),
    );
    expect(outcomes.map(({ type }) => type)).toEqual([
      'ToolExecutionResult',
      'ToolFailure',
      'ToolExecutionResult',
    ]);
    expect([fetching.attempts, other.attempts, picky.attempts]).toEqual([[1, 2, 3, 4], [1], [1, 2]]);
  });

  it('is charged for each attempt, counted as one call, and its outcome has the total cost', async () => {
    const { tool } = flaky(['tool.network_error'], { mode: 'read', costMicros: 30 });
    const { runtime, ledger, turn, clock } = setStage({
      tools: [tool],
      behaviors: [retry()],
      budgets: [{ scope: 'team', toolCalls: 1, costMicros: 100 }],
    });
    await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    expect(await readCounters(ledger, ['named/"team"/tool_calls', 'named/"team"/cost_micros'])).toEqual([
      { used: 1, reserved: 0 },
      { used: 60, reserved: 0 },
    ]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.costMicros).toBe(60);
  });

  it('is not retried if the budget has too little left, and the log says so', async () => {
    const { tool, attempts } = flaky(['tool.network_error'], { mode: 'read', costMicros: 60 });
    const { runtime, turn, clock } = setStage({
      tools: [tool],
      behaviors: [retry()],
      budgets: [{ scope: 'team', costMicros: 100 }],
    });
    const outcome = await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(attempts).toEqual([1]);
    const ends = await eventsOf(runtime, 'tool.responded');
    expect(
      ends
        .at(-1)
        ?.log.map(({ message }) => message)
        .join(),
    ).toMatch(/budget has too little left/);
    await expectSettledOnce(runtime);
  });
});

describe('a body that must not run twice', () => {
  it('does not, whoever asks, and its record says why', async () => {
    const { tool, attempts } = flaky(['tool.network_error'], { name: 'fetch_rates', mode: 'external' });
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [retry()] });
    const outcome = await settled(clock, turn.call(envelope('c', 'fetch_rates')));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(attempts).toEqual([1]);
    const [end, ...more] = await eventsOf(runtime, 'tool.responded');
    expect(more).toEqual([]);
    expect(end?.final).toBe(true);
    expect(end?.log[0]?.message).toMatch(/does not say that its calls may run twice/);
  });

  it.each([
    ['idempotent', { mode: 'external', idempotent: true } as const],
    ['only reading', { mode: 'read' } as const],
  ])('runs again if its tool is declared %s', async (_, traits) => {
    const { tool, attempts } = flaky(['tool.network_error'], traits);
    const { turn, clock } = setStage({ tools: [tool], behaviors: [retry()] });
    expect(await settled(clock, turn.call(envelope('c', 'fetch_rates')))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(attempts).toEqual([1, 2]);
  });

  it('runs again if its author declares a retry after this failure safe', async () => {
    let runs = 0;
    const tool = defineTool({
      name: 'pay',
      mode: 'external',
      run: () => {
        if (runs++ === 0)
          throw new ToolError('tool.network_error', 'refused at the door', { retryable: true });
        return 'paid';
      },
    });
    const { turn, clock } = setStage({ tools: [tool], behaviors: [retry()] });
    expect(await settled(clock, turn.call(envelope('c', 'pay')))).toMatchObject({ output: 'paid' });
    expect(runs).toBe(2);
  });

  it('does not run again for a permanent failure, whatever reasons the retry behavior lists', async () => {
    const { tool, attempts } = flaky(['tool.invalid_output']);
    const { turn, clock } = setStage({
      tools: [tool],
      behaviors: [retry({ reasons: ['tool.invalid_output'] })],
    });
    expect(await settled(clock, turn.call(envelope('c', 'fetch_rates')))).toMatchObject({
      code: 'tool.invalid_output',
    });
    expect(attempts).toEqual([1]);
  });
});

describe('between two attempts', () => {
  const slow = (): Behavior => retry({ initialMs: 60_000, maxMs: 60_000, jitter: 0 });

  it('a cancelled call ends at once with its last failure', async () => {
    const { tool, attempts } = flaky(['tool.network_error']);
    const { runtime, turn } = setStage({ tools: [tool], behaviors: [slow()] });
    const asked = turn.call(envelope('c', 'fetch_rates'));
    await quiet();
    expect(turn.cancel('c')).toBe(true);
    expect(await asked).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
    expect(attempts).toEqual([1]);
    await expectSettledOnce(runtime);
  });

  it('a call whose turn would end before the next attempt ends at once', async () => {
    const { tool, attempts } = flaky(['tool.network_error']);
    const { runtime } = setStage({ tools: [tool], behaviors: [slow()] });
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 10_000 });
    expect(await turn.call(envelope('c', 'fetch_rates'))).toMatchObject({ code: 'tool.network_error' });
    expect(attempts).toEqual([1]);
    await expectSettledOnce(runtime);
  });

  it('a runtime that closes ends its calls with their last failure', async () => {
    const { tool } = flaky(['tool.network_error']);
    const { runtime, turn } = setStage({ tools: [tool], behaviors: [slow()] });
    const asked = turn.call(envelope('c', 'fetch_rates'));
    await quiet();
    await runtime.close();
    expect(await asked).toMatchObject({ code: 'tool.network_error' });
  });

  it('a repeat of the same call joins it', async () => {
    const { tool, attempts } = flaky(['tool.network_error']);
    const { runtime, turn, clock } = setStage({ tools: [tool], behaviors: [slow()] });
    const first = turn.call(envelope('c', 'fetch_rates'));
    await quiet();
    const second = runtime.turn({ sessionId: 's' }).call(envelope('c', 'fetch_rates'));
    clock.advance(60_000);
    const [one, two] = await settled(clock, Promise.all([first, second]));
    expect(two).toBe(one);
    expect(attempts).toEqual([1, 2]);
  });

  it('the late result of an attempt that timed out is stored with its number, and changes nothing', async () => {
    const clock = createManualClock();
    const late = deferred<unknown>();
    let runs = 0;
    const tool = defineTool({
      name: 'get_slow',
      mode: 'read',
      timeoutMs: 100,
      run: () => (runs++ === 0 ? late.promise : 'second'),
    });
    const { runtime, turn } = setStage({
      tools: [tool],
      behaviors: [retry({ initialMs: 1_000, jitter: 0 })],
      clock,
    });
    const asked = turn.call(envelope('c', 'get_slow'));
    await quiet();
    clock.advance(100);
    await quiet();
    late.resolve('first');
    await quiet();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ output: 'second' });
    await quiet();
    const [kept] = await eventsOf(runtime, 'tool.late');
    expect(kept).toMatchObject({ attempt: 1, result: { type: 'returned', output: 'first' } });
    await expectSettledOnce(runtime);
  });
});

describe('a custom retry behavior', () => {
  it('works like the built-in one, by the event', async () => {
    const { tool, attempts } = flaky(['tool.execution_error']);
    const { runtime, turn, clock } = setStage({ tools: [tool] });
    runtime.events.on(
      {
        name: 'mine',
        on: 'tool.responded',
        retries: true,
        where: { 'error.reason': ['tool.execution_error'], final: false },
      },
      (event, context) => {
        if (event.attempt < 3)
          context.emit('retry.requested', { forEvent: event.id, attempt: event.attempt + 1 });
      },
    );
    expect(await settled(clock, turn.call(envelope('c', 'fetch_rates')))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(attempts).toEqual([1, 2]);
    expect((await eventsOf(runtime, 'retry.requested')).map(({ by }) => by)).toEqual(['mine']);
  });

  it('a custom retry behavior without a limit stops after 100 attempts', async () => {
    const { tool, attempts } = flaky(Array.from({ length: 120 }, () => 'tool.execution_error' as const));
    const { runtime, turn, clock } = setStage({ tools: [tool] });
    runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, (event, context) =>
      context.emit('retry.requested', { forEvent: event.id, attempt: event.attempt + 1 }),
    );
    expect(await settled(clock, turn.call(envelope('c', 'fetch_rates')))).toMatchObject({
      code: 'tool.execution_error',
    });
    expect(attempts).toHaveLength(100);
    const [last] = (await eventsOf(runtime, 'tool.responded')).slice(-1);
    expect(last).toMatchObject({ attempt: 100, final: true });
  });

  it('a custom retry behavior that requests nothing leaves the call with its final outcome, charged once', async () => {
    const { tool } = flaky(['tool.execution_error'], { mode: 'read', costMicros: 30 });
    const { runtime, turn, ledger } = setStage({
      tools: [tool],
      budgets: [{ scope: 'team', costMicros: 100 }],
    });
    const heard: boolean[] = [];
    runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, (event) => {
      heard.push(event.final);
    });
    expect(await turn.call(envelope('c', 'fetch_rates'))).toMatchObject({ code: 'tool.execution_error' });
    expect(heard).toEqual([false]);
    const ends = await eventsOf(runtime, 'tool.responded');
    expect(ends.map(({ final, attempt }) => [final, attempt])).toEqual([
      [false, 1],
      [true, 1],
    ]);
    expect((await runtime.calls.list({ sessionId: 's' }))[0]?.settled?.costMicros).toBe(30);
    expect(await readCounters(ledger, ['named/"team"/cost_micros'])).toEqual([{ used: 30, reserved: 0 }]);
    await expectSettledOnce(runtime);
  });

  it('a custom retry behavior that never answers delays the call no longer than its time limit', async () => {
    const { tool } = flaky(['tool.execution_error']);
    const { runtime, turn, clock } = setStage({ tools: [tool] });
    runtime.events.on(
      { name: 'mine', on: 'tool.responded', retries: true, timeoutMs: 1_000 },
      () => new Promise(() => undefined),
    );
    const asked = turn.call(envelope('c', 'fetch_rates'));
    await quiet();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ code: 'tool.execution_error' });
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([
      { behavior: 'mine', reason: 'behavior.timeout' },
    ]);
  });

  it('a custom retry behavior that throws fails by itself, and the call ends as without it', async () => {
    const { tool } = flaky(['tool.execution_error']);
    const { runtime, turn } = setStage({ tools: [tool] });
    runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, () => {
      throw new Error('out of order');
    });
    expect(await turn.call(envelope('c', 'fetch_rates'))).toMatchObject({ code: 'tool.execution_error' });
    const [failed] = await eventsOf(runtime, 'behavior.failed');
    const [attempt] = await eventsOf(runtime, 'tool.responded');
    expect(failed).toMatchObject({
      behavior: 'mine',
      reason: 'behavior.error',
      message: 'out of order',
      triggeringEventId: attempt?.id,
      triggeringCallId: 'c',
      attempt: 1,
    });
  });

  it('cannot retry another call, nor skip an attempt', async () => {
    const { tool } = flaky(['tool.execution_error', 'tool.execution_error']);
    const { runtime, turn } = setStage({ tools: [tool] });
    runtime.events.on({ name: 'mine', on: 'tool.responded', retries: true }, (event, context) => {
      context.emit(
        'retry.requested',
        event.callId === 'a' ? { forEvent: 'evt_of_another' } : { forEvent: event.id, attempt: 7 },
      );
    });
    await turn.call(envelope('a', 'fetch_rates'));
    await turn.call(envelope('b', 'fetch_rates', { other: true }));
    expect((await eventsOf(runtime, 'behavior.failed')).map(({ message }) => message)).toEqual([
      expect.stringMatching(/only retry the call of its event/),
      expect.stringMatching(/next attempt is number 2, not 7/),
    ]);
    expect(await eventsOf(runtime, 'retry.requested')).toEqual([]);
  });

  it('gets an explicit error if it did not declare that it retries', async () => {
    const { tool } = flaky(['tool.execution_error']);
    const { runtime, turn } = setStage({ tools: [tool] });
    const mine = runtime.events.on({ name: 'mine', on: 'tool.responded' }, (event, context) => {
      context.emit('retry.requested', { forEvent: event.id });
    });
    await turn.call(envelope('c', 'fetch_rates'));
    await mine.caughtUp();
    expect((await eventsOf(runtime, 'behavior.failed'))[0]?.message).toMatch(
      /Register it with retries: true/,
    );
  });
});

describe('retry', () => {
  it.each([
    [{ attempts: 0 }, /attempts must be a whole number from 1 to 100, found 0/],
    [{ reasons: ['tool.tiemout'] }, /reasons must be a list of reason codes .* found "tool.tiemout"/],
    [{ jitter: 2 }, /jitter must be a number from 0 to 1, found 2/],
    [{ factor: Number.NaN }, /factor must be a number of at least 1/],
    [{ tools: { pay: { attemps: 3 } } }, /retry for the tool "pay".*attemps/],
  ])('refuses settings that cannot work: %j', (options, message) => {
    expect(() => retry(options as never)).toThrow(message);
  });
});

it('rulings about the output of a failed attempt do not carry over to the next one', async () => {
  const contracts = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: quality }
defaults: { mode: enforce }
rules:
  - id: stale-rates
    type: post
    tool: fetch_rates
    when: { output.text: { contains: stale } }
    then: { action: warn, message: "The rates are stale." }
`);
  let runs = 0;
  const tool = defineTool({
    name: 'fetch_rates',
    mode: 'read',
    run: () => (++runs === 1 ? { ok: false, error: 'stale' } : { ok: true, rate: 1.1 }),
  });
  const { runtime, turn, clock } = setStage({
    tools: [tool],
    contracts,
    behaviors: [retry({ reasons: ['tool.reported_error'] })],
  });
  expect(await settled(clock, turn.call(envelope('c', 'fetch_rates')))).toMatchObject({
    type: 'ToolExecutionResult',
  });
  const ends = await eventsOf(runtime, 'tool.responded');
  expect(ends.map(({ final, rules }) => [final, rules.map(({ ruleId }) => ruleId)])).toEqual([
    [false, ['stale-rates']],
    [true, []],
  ]);
});
