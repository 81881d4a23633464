/** Behaviors: named code that gets events after they are stored. */
import type { Runtime } from 'quittance';
import type { EmittedEvent } from 'quittance/events';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { createMortalLedger } from '../mortal-ledger.ts';
import { deferred, envelope, eventsOf, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';
import { listCursors, readCursor, releaseCursor } from '../../packages/quittance/src/ledger/reads.ts';

const get = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });
const fail = defineTool({
  name: 'get_none',
  mode: 'read',
  run: () => {
    throw new ToolError('tool.network_error', 'no route', { extras: { host: 'db' } });
  },
});

/** Events of a custom type. */
const emitted = async (runtime: Pick<Runtime, 'events'>, type: string): Promise<readonly EmittedEvent[]> =>
  (await runtime.events.list({ sessionId: 's' })).filter(
    (event) => (event.type as string) === type,
  ) as unknown as readonly EmittedEvent[];

describe('a behavior', () => {
  it('gets every event of its types, once, in order, after it is stored', async () => {
    const { runtime, turn, ledger } = setStage({ tools: [get] });
    const heard: string[] = [];
    const behavior = runtime.events.on(
      { name: 'listen', on: ['tool.requested', 'tool.responded'] },
      async (event) => {
        const stored = await ledger.readCall(event.sessionId, event.callId);
        expect(stored?.events.map(({ id }) => id)).toContain(event.id);
        heard.push(`${event.type} ${event.callId}`);
      },
    );
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await behavior.caughtUp();
    expect(heard).toEqual(['tool.requested a', 'tool.responded a', 'tool.requested b', 'tool.responded b']);
  });

  it('gets events of its types, and TypeScript knows them', () => {
    const { runtime } = setStage({ tools: [get] });
    runtime.events.on({ name: 'one', on: 'tool.held' }, (event) => {
      expectTypeOf(event.confirmationId).toEqualTypeOf<string>();
    });
    runtime.events.on({ name: 'two', on: ['tool.held', 'tool.late'] }, (event) => {
      expectTypeOf(event.type).toEqualTypeOf<'tool.held' | 'tool.late'>();
    });
    runtime.events.on({ name: 'three', on: 'order.flagged' }, (event) => {
      expectTypeOf(event).toEqualTypeOf<EmittedEvent>();
    });
  });

  it.each([
    ['a value', { 'outcome.type': 'ToolFailure' }, ['b']],
    ['a list, any of', { 'outcome.type': ['ToolFailure', 'ToolExecutionResult'] }, ['a', 'b']],
    ['a prefix', { 'error.reason': { prefix: 'tool.network' } }, ['b']],
    ['a prefix that is not there', { 'error.reason': { prefix: 'budget.' } }, []],
    ['a list with a prefix in it', { 'error.reason': ['x', { prefix: 'tool.' }] }, ['b']],
    ['a predicate', { attempt: (value: unknown) => Number(value) > 0 }, ['a', 'b']],
    [
      'a predicate on the whole event',
      { id: (_: unknown, event: object) => 'callId' in event && event.callId === 'a' },
      ['a'],
    ],
    ['several fields, all of which must', { 'outcome.type': 'ToolFailure', final: false }, []],
    ['a field that no event has', { 'constructor.name': 'Object' }, []],
    ['nothing at all', {}, ['a', 'b']],
  ])('matches fields by %s', async (_, where, expected) => {
    const { runtime, turn } = setStage({ tools: [get, fail] });
    const heard: string[] = [];
    const behavior = runtime.events.on({ name: 'listen', on: 'tool.responded', where }, (event) => {
      heard.push(event.callId);
    });
    await turn.call(envelope('a', 'get_it'));
    await turn.call(envelope('b', 'get_none'));
    await behavior.caughtUp();
    expect(heard).toEqual(expected);
  });

  it('a behavior that fails leaves an event, and affects nothing else', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const listen = runtime.events.on({ name: 'listen', on: 'tool.responded' }, () => {
      throw new TypeError('cannot read password=hunter2hunter2');
    });
    const others: string[] = [];
    const other = runtime.events.on(
      { name: 'other', on: 'tool.responded' },
      (event) => void others.push(event.callId),
    );
    expect(await turn.call(envelope('a', 'get_it'))).toMatchObject({ type: 'ToolExecutionResult' });
    await Promise.all([listen.caughtUp(), other.caughtUp()]);
    const [told] = await eventsOf(runtime, 'tool.responded');
    const [failed] = await eventsOf(runtime, 'behavior.failed');
    expect(failed).toMatchObject({
      behavior: 'listen',
      reason: 'behavior.error',
      attempt: 1,
      triggeringEventId: told?.id,
      triggeringCallId: 'a',
      cause: told?.id,
      payloadExtras: { exception_type: 'TypeError' },
    });
    expect(JSON.stringify(failed)).not.toContain('hunter2');
    expect(others).toEqual(['a']);
  });

  it('a behavior that lets the ToolError of a called tool escape fails with its reason and extras', async () => {
    const { runtime, turn } = setStage({ tools: [get, fail] });
    const behavior = runtime.events.on(
      { name: 'fetcher', on: 'tool.responded', where: { callId: 'a' } },
      async (_, context) => context.call({ name: 'get_none', arguments: {} }),
    );
    await turn.call(envelope('a', 'get_it'));
    await behavior.caughtUp();
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([
      {
        behavior: 'fetcher',
        reason: 'tool.network_error',
        message: 'no route',
        payloadExtras: { host: 'db' },
      },
    ]);
  });

  it('a behavior that never returns is abandoned, and the next event is delivered', async () => {
    const { runtime, turn, clock } = setStage({ tools: [get] });
    const heard: string[] = [];
    let signal: AbortSignal | undefined;
    let late: unknown;
    const behavior = runtime.events.on(
      { name: 'stuck', on: 'tool.responded', timeoutMs: 1_000 },
      async (event, context) => {
        heard.push(event.callId);
        if (event.callId !== 'a') return;
        signal = context.signal;
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        try {
          context.emit('order.flagged', {});
        } catch (error) {
          late = error;
        }
      },
    );
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await quiet();
    clock.advance(1_000);
    await behavior.caughtUp();
    expect(heard).toEqual(['a', 'b']);
    expect(signal?.aborted).toBe(true);
    expect(late).toMatchObject({ message: expect.stringMatching(/time for this event is over/) as string });
    expect(await emitted(runtime, 'order.flagged')).toEqual([]);
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([{ reason: 'behavior.timeout' }]);
  });

  it('gets nothing after off(), and continues where it stopped', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const heard: string[] = [];
    const listen = (): ReturnType<typeof runtime.events.on> =>
      runtime.events.on({ name: 'listen', on: 'tool.responded' }, (event) => void heard.push(event.callId));
    const first = listen();
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await first.caughtUp();
    await first.off();
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    expect(heard).toEqual(['a']);
    await listen().caughtUp();
    expect(heard).toEqual(['a', 'b']);
  });

  it('a behavior that is new gets new events, or on request all stored ones', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    const heard: string[] = [];
    const now = runtime.events.on(
      { name: 'now', on: 'tool.responded' },
      (event) => void heard.push(`now ${event.callId}`),
    );
    const all = runtime.events.on(
      { name: 'all', on: 'tool.responded', from: 'start' },
      (event) => void heard.push(`all ${event.callId}`),
    );
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await Promise.all([now.caughtUp(), all.caughtUp()]);
    expect(heard.sort()).toEqual(['all a', 'all b', 'now b']);
  });

  it.each([
    [{ on: 'tool.responded' }, /needs a name/],
    [{ name: 'x', on: 'tool.respond' }, /no event type "tool.respond"/],
    [{ name: 'x', on: 'flagged' }, /no event type "flagged"/],
    [{ name: 'x', on: [] }, /on must be the type of an event/],
    [{ name: 'x', on: 'tool.held', wher: {} }, /wher/],
    [{ name: 'x', on: 'tool.held', where: { type: [] } }, /empty list/],
    [{ name: 'x', on: 'tool.held', where: { type: { suffix: 'x' } } }, /where\.type must be a value/],
    [{ name: 'x', on: 'tool.held', retries: true }, /must be on "tool.responded" and nothing else/],
    [{ name: 'x', on: 'tool.held', timeoutMs: 0 }, /timeoutMs must be a whole number/],
    [
      { name: 'x', on: 'tool.held', ephemeral: true, from: 'start' },
      /only a durable behavior has a position/,
    ],
  ])('is refused if it could never get an event: %j', (spec, message) => {
    const { runtime } = setStage({ tools: [] });
    expect(() => runtime.events.on(spec as never, () => undefined)).toThrow(message);
  });

  it('has a unique name', () => {
    const { runtime } = setStage({ tools: [] });
    runtime.events.on({ name: 'x', on: 'tool.held' }, () => undefined);
    expect(() => runtime.events.on({ name: 'x', on: 'tool.late' }, () => undefined)).toThrow(
      /registered already/,
    );
  });
});

describe('what a behavior emits', () => {
  it('is in the session of its event, with that event as its cause, without secrets, and reaches others', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const heard: EmittedEvent[] = [];
    const alert = runtime.events.on(
      { name: 'alert', on: 'order.flagged' },
      (event) => void heard.push(event),
    );
    const flag = runtime.events.on({ name: 'flag', on: 'tool.responded' }, (event, context) => {
      context.emit('order.flagged', { callId: event.callId, password: 'correct horse battery' });
    });
    await turn.call(envelope('a', 'get_it'));
    await flag.caughtUp();
    await alert.caughtUp();
    const [told] = await eventsOf(runtime, 'tool.responded');
    const [event] = await emitted(runtime, 'order.flagged');
    expect(event).toMatchObject({ sessionId: 's', cause: told?.id, by: 'flag', data: { callId: 'a' } });
    expect(JSON.stringify(event)).not.toContain('correct horse');
    expect(heard).toEqual([event]);
  });

  it('is dropped if the behavior fails afterwards', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const flag = runtime.events.on({ name: 'flag', on: 'tool.responded' }, (_, context) => {
      context.emit('order.flagged', {});
      throw new Error('on second thought');
    });
    await turn.call(envelope('a', 'get_it'));
    await flag.caughtUp();
    expect(await emitted(runtime, 'order.flagged')).toEqual([]);
    expect(await eventsOf(runtime, 'behavior.failed')).toHaveLength(1);
  });

  it.each([
    ['tool.responded', {}, /cannot emit "tool.responded"/],
    ['grant.given', { grantId: 'g' }, /cannot emit "grant.given"/],
    ['flagged', {}, /cannot emit "flagged"/],
    ['order.flagged', 'text', /must be a JSON object/],
    ['order.flagged', { big: 1n }, /must be a JSON object/],
  ])('cannot be %s with %s', async (type, data, message) => {
    const { runtime, turn } = setStage({ tools: [get] });
    const flag = runtime.events.on({ name: 'flag', on: 'tool.responded' }, (_, context) => {
      context.emit(type as never, data as never);
    });
    await turn.call(envelope('a', 'get_it'));
    await flag.caughtUp();
    expect((await eventsOf(runtime, 'behavior.failed'))[0]?.message).toMatch(message);
  });

  it('cannot loop: behaviors that trigger each other are stopped, and it is reported once', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    let runs = 0;
    const ping = runtime.events.on({ name: 'ping', on: ['tool.responded', 'game.pong'] }, (_, context) => {
      runs++;
      context.emit('game.ping', {});
    });
    const pong = runtime.events.on({ name: 'pong', on: 'game.ping' }, (_, context) => {
      runs++;
      context.emit('game.pong', {});
    });
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 40; n++) {
      await ping.caughtUp();
      await pong.caughtUp();
    }
    expect(runs).toBe(32);
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([{ reason: 'behavior.depth' }]);
  });

  it('cannot loop through the tools that behaviors call either', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const again = runtime.events.on({ name: 'again', on: 'tool.responded' }, (event, context) =>
      context.call({ name: 'get_it', arguments: { after: event.id } }),
    );
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 40; n++) await again.caughtUp();
    expect(await runtime.calls.list({ sessionId: 's' })).toHaveLength(33);
    expect(await eventsOf(runtime, 'behavior.failed')).toMatchObject([{ reason: 'behavior.depth' }]);
  });

  it('stops if a behavior fails on every failure, including its own', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const doomed = runtime.events.on({ name: 'doomed', on: ['tool.responded', 'behavior.failed'] }, () => {
      throw new Error('again');
    });
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 40; n++) await doomed.caughtUp();
    expect((await eventsOf(runtime, 'behavior.failed')).length).toBeLessThanOrEqual(33);
  });
});

describe('the retry of an event that a behavior could not handle', () => {
  it('delivers the same event again, by the event that a failure leaves', async () => {
    let broken = 2;
    const flaky = defineTool({
      name: 'get_flaky',
      mode: 'read',
      run: () => {
        if (broken-- > 0) throw new ToolError('tool.timeout', 'slow today');
        return 'done';
      },
    });
    const { runtime, turn } = setStage({ tools: [get, flaky] });
    const seen: [string, number][] = [];
    const report = runtime.events.on(
      { name: 'report', on: 'tool.responded', where: { callId: 'a' } },
      async (event, context) => {
        seen.push([event.callId, context.attempt]);
        await context.call({ name: 'get_flaky', arguments: {} });
        context.emit('report.sent', {});
      },
    );
    // As on the page about tool errors.
    const toolRetry = runtime.events.on(
      {
        name: 'tool_retry',
        on: ['behavior.failed'],
        where: { reason: ['tool.timeout', 'tool.network_error'] },
      },
      (event, context) => {
        const attempt = event.attempt + 1;
        if (attempt > 3) return;
        context.emit('retry.requested', { forEvent: event.triggeringEventId, attempt });
      },
    );
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 5; n++) {
      await report.caughtUp();
      await toolRetry.caughtUp();
    }
    expect(seen).toEqual([
      ['a', 1],
      ['a', 2],
      ['a', 3],
    ]);
    expect(await emitted(runtime, 'report.sent')).toHaveLength(1);
    const failures = await eventsOf(runtime, 'behavior.failed');
    expect(failures.map(({ reason, attempt, behavior }) => [behavior, reason, attempt])).toEqual([
      ['report', 'tool.timeout', 1],
      ['report', 'tool.timeout', 2],
    ]);
    const asked = await eventsOf(runtime, 'retry.requested');
    expect(asked.map(({ attempt, by, behavior, cause }) => [attempt, by, behavior, cause])).toEqual([
      [2, 'tool_retry', 'report', failures[0]?.id],
      [3, 'tool_retry', 'report', failures[1]?.id],
    ]);
  });

  it('ends when the retry behavior gives up, and leaves every failure on record', async () => {
    const { runtime, turn } = setStage({ tools: [get, fail] });
    const report = runtime.events.on(
      { name: 'report', on: 'tool.responded', where: { callId: 'a' } },
      (_, context) => context.call({ name: 'get_none', arguments: {} }),
    );
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (event, context) => {
      if (event.attempt < 3) context.retry();
    });
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 6; n++) {
      await report.caughtUp();
      await again.caughtUp();
    }
    expect((await eventsOf(runtime, 'behavior.failed')).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it('does not repeat what succeeded before the failure', async () => {
    let paid = 0;
    let broken = true;
    const pay = defineTool({ name: 'pay', mode: 'external', run: () => ++paid });
    const mail = defineTool({
      name: 'get_mail',
      mode: 'read',
      run: () => {
        if (broken) throw new ToolError('tool.network_error', 'down');
        return 'sent';
      },
    });
    const { runtime, turn } = setStage({ tools: [get, pay, mail] });
    const settle = runtime.events.on(
      { name: 'settle', on: 'tool.responded', where: { callId: 'a' } },
      async (_, context) => {
        await context.call({ name: 'pay', arguments: { amount: 1 } });
        await context.call({ name: 'get_mail', arguments: {} });
        context.emit('order.settled', {});
      },
    );
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (_, context) => {
      broken = false;
      context.retry();
    });
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 4; n++) {
      await settle.caughtUp();
      await again.caughtUp();
    }
    expect(await emitted(runtime, 'order.settled')).toHaveLength(1);
    expect(paid).toBe(1);
  });

  it('waits until it is due, by the clock of the ledger', async () => {
    const { runtime, turn, clock } = setStage({ tools: [get] });
    const seen: number[] = [];
    const flaky = runtime.events.on({ name: 'flaky', on: 'tool.responded' }, (_, context) => {
      seen.push(clock.now());
      if (context.attempt === 1) throw new Error('not yet');
    });
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (_, context) =>
      context.retry({ afterMs: 5_000 }),
    );
    await turn.call(envelope('a', 'get_it'));
    await flaky.caughtUp();
    await again.caughtUp();
    await quiet();
    expect(seen).toHaveLength(1);
    clock.advance(5_000);
    await flaky.caughtUp();
    expect(seen.map((at) => at - (seen[0] ?? 0))).toEqual([0, 5_000]);
  });
});

describe('an ephemeral behavior', () => {
  it('gets new events in every runtime, and leaves no position behind', async () => {
    const ledger = createMemoryLedger();
    const [one, two] = [createRuntime({ tools: [get], ledger }), createRuntime({ tools: [get], ledger })];
    const heard: string[] = [];
    const behaviors = [one, two].map((runtime, index) =>
      runtime.events.on({ name: 'live', on: 'tool.responded', ephemeral: true }, (event) => {
        heard.push(`${index} ${event.callId}`);
      }),
    );
    await one.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
    await Promise.all(behaviors.map((behavior) => behavior.caughtUp()));
    expect(heard.sort()).toEqual(['0 a', '1 a']);
    expect(await listCursors(ledger)).toEqual([]);
    await Promise.all([one.close(), two.close()]);
  });
});

describe('a durable behavior', () => {
  it('runs in one runtime at a time, and in the next when that one closes', async () => {
    const ledger = createMemoryLedger();
    const [one, two] = [createRuntime({ tools: [get], ledger }), createRuntime({ tools: [get], ledger })];
    const heard: string[] = [];
    const [first, second] = [one, two].map((runtime, index) =>
      runtime.events.on({ name: 'keeper', on: 'tool.responded' }, (event) => {
        heard.push(`${index} ${event.callId}`);
      }),
    );
    const turn = two.turn({ sessionId: 's' });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await second?.caughtUp();
    expect(heard).toEqual(['0 a']);
    await one.close();
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await second?.caughtUp();
    expect(heard).toEqual(['0 a', '1 b']);
    await first?.off();
    await two.close();
  });

  it('says that a delivery may be a repetition only after a reader that stopped in the middle of one', async () => {
    const ledger = createMemoryLedger();
    const said: boolean[] = [];
    const visit = async (id: string, isInterrupted: boolean): Promise<void> => {
      const runtime = createRuntime({ tools: [get], ledger });
      const entered = deferred();
      const keeper = runtime.events.on({ name: 'keeper', on: 'tool.responded' }, async (_, context) => {
        said.push(context.mayRepeat);
        entered.resolve();
        if (isInterrupted) await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      });
      await runtime.turn({ sessionId: 's' }).call(envelope(id, 'get_it', { id }));
      await entered.promise;
      if (!isInterrupted) await keeper.caughtUp();
      await runtime.close();
    };
    await visit('a', false);
    await visit('b', false);
    await visit('c', true);
    expect(said).toEqual([false, false, false]);
    // It gets the event of c again, then its own.
    await visit('d', false);
    expect(said[3]).toBe(true);
  });

  it('gets an event again if a closing runtime interrupted its handling', async () => {
    const ledger = createMemoryLedger();
    const one = createRuntime({ tools: [get], ledger });
    const entered = deferred();
    one.events.on({ name: 'keeper', on: 'tool.responded' }, async (_, context) => {
      entered.resolve();
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    });
    await one.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
    await entered.promise;
    await one.close();
    const two = createRuntime({ tools: [get], ledger });
    const heard: string[] = [];
    const again = two.events.on(
      { name: 'keeper', on: 'tool.responded' },
      (event) => void heard.push(event.callId),
    );
    await again.caughtUp();
    expect(heard).toEqual(['a']);
    await two.close();
  });
});

it('an emitted event exists once, even if the process dies right after storing it', async () => {
  const clock = createManualClock();
  const mortal = createMortalLedger(clock);
  const { inner } = mortal;
  const first = mortal.open();
  const died = deferred();
  const ledger = alterLedger(first.ledger, {
    append: (entry) => {
      const answer = first.ledger.append(entry);
      if (!entry.events.some(({ type }) => (type as string) === 'order.flagged')) return answer;
      first.kill();
      died.resolve();
      return new Promise(() => undefined);
    },
  });
  const flag = (runtime: Runtime): ReturnType<Runtime['events']['on']> =>
    runtime.events.on({ name: 'flag', on: 'tool.responded' }, (_, context) =>
      context.emit('order.flagged', {}),
    );
  const one = createRuntime({ tools: [get], ledger, clock });
  flag(one);
  await one.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
  await died.promise;
  const cursor = await readCursor(inner, 'flag');
  await releaseCursor(inner, 'flag', cursor?.holder ?? ''); // as when its owner is found dead
  const two = createRuntime({ tools: [get], ledger: inner, clock });
  const again = flag(two);
  await two.turn({ sessionId: 's' }).call(envelope('b', 'get_it', { n: 2 }));
  await again.caughtUp();
  expect((await emitted(two, 'order.flagged')).map(({ callId }) => callId)).toEqual(['a', 'b']);
  await two.close();
});

it('a behavior that never stops does not keep a runtime from closing', async () => {
  const { runtime, turn, clock } = setStage({ tools: [get], cancelGraceMs: 100 });
  const entered = deferred();
  runtime.events.on({ name: 'stuck', on: 'tool.responded' }, () => {
    entered.resolve();
    return new Promise(() => undefined);
  });
  await turn.call(envelope('a', 'get_it'));
  await entered.promise;
  const closing = runtime.close();
  await quiet();
  clock.advance(100);
  expect(await closing).toBeUndefined();
});

describe('tail', () => {
  it('returns every event from any position on, then new ones', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    const seen: { position: number; type: string }[] = [];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { position, event } of runtime.events.tail({ signal: stop.signal }))
        seen.push({ position, type: event.type });
    })();
    await quiet();
    expect(seen.map(({ type }) => type)).toEqual([
      'turn.opened',
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.responded',
    ]);
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await quiet();
    stop.abort();
    await reading;
    const after = seen[0]?.position ?? 0;
    const rest: string[] = [];
    for await (const { event } of runtime.events.tail({ after, types: ['tool.responded'] })) {
      rest.push('callId' in event ? String(event.callId) : '');
      break;
    }
    expect(rest).toEqual(['b']);
  });
});
