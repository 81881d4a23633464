/** Delivery to behaviors when the ledger, the host or other behaviors fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from 'quittance';
import type { EmittedEvent } from 'quittance/events';
import type { RuntimeTrouble } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';
import { readCursor, dropCursor, lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

const get = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });

const emitted = async (runtime: Pick<Runtime, 'events'>, type: string): Promise<readonly EmittedEvent[]> =>
  (await runtime.events.list({ sessionId: 's' })).filter(
    (event) => (event.type as string) === type,
  ) as unknown as readonly EmittedEvent[];

let folder: string | undefined;
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});
const onDisk = (): Promise<OpenLedger> => {
  folder ??= mkdtempSync(join(tmpdir(), 'quittance-delivery-'));
  return openLedger(join(folder, 'ledger.db'));
};

describe('a new behavior', () => {
  const takeSlowly = (inner: OpenLedger, taking: Promise<void>): OpenLedger =>
    alterLedger(inner, {
      setCursor: (change) => taking.then(() => inner.setCursor(change)),
    });

  it('gets what follows its registration, even if its process is killed before it has read anything', async () => {
    const inner = createMemoryLedger();
    const killed = createRuntime({
      tools: [get],
      ledger: takeSlowly(inner, new Promise(() => undefined)),
    });
    killed.events.on({ name: 'listen', on: 'tool.responded' }, () => undefined);
    void killed.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
    await quiet();
    // The successor begins with the next event, so nothing may be stored yet.
    expect(await lastPosition(inner)).toBe(0);
  });

  it('delays calls until its position is stored, and no longer', async () => {
    const inner = createMemoryLedger();
    const taking = deferred<void>();
    const { runtime, turn } = setStage({ tools: [get], ledger: takeSlowly(inner, taking.promise) });
    const heard: string[] = [];
    const listen = runtime.events.on(
      { name: 'listen', on: 'tool.responded' },
      (event) => void heard.push(event.callId),
    );
    const told = turn.call(envelope('a', 'get_it'));
    taking.resolve();
    expect((await told).type).toBe('ToolExecutionResult');
    await listen.caughtUp();
    expect(heard).toEqual(['a']);
  });

  it('does not delay calls if another process holds its position, or if the ledger fails', async () => {
    const inner = createMemoryLedger();
    const spec = { name: 'listen', on: 'tool.responded' } as const;
    const holder = createRuntime({ tools: [get], ledger: inner });
    const listening = holder.events.on(spec, () => undefined);
    await listening.caughtUp();
    const second = createRuntime({ tools: [get], ledger: inner });
    second.events.on(spec, () => undefined);
    expect((await second.turn({ sessionId: 's' }).call(envelope('a', 'get_it'))).type).toBe(
      'ToolExecutionResult',
    );
    const failing = createRuntime({
      tools: [get],
      ledger: takeSlowly(inner, Promise.reject(new Error('disk is on fire'))),
    });
    failing.events.on({ ...spec, name: 'other' }, () => undefined);
    expect((await failing.turn({ sessionId: 's' }).call(envelope('b', 'get_it'))).type).toBe(
      'ToolExecutionResult',
    );
    await Promise.all([holder.close(), second.close(), failing.close()]);
  });
});

it('a ledger failure during the registration of a behavior only delays its start', async () => {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  let trouble = 1;
  const ledger = alterLedger(inner, {
    rows: {
      end: (query) => {
        if (trouble-- > 0) throw new Error('disk is on fire');
        return inner.query('end', query);
      },
    },
  });
  const { runtime, turn } = setStage({ tools: [get], ledger, clock });
  const heard: string[] = [];
  const listen = runtime.events.on(
    { name: 'listen', on: 'tool.responded' },
    (event) => void heard.push(event.callId),
  );
  await quiet();
  clock.advance(1_000);
  await quiet();
  await turn.call(envelope('a', 'get_it'));
  await listen.caughtUp();
  expect(heard).toEqual(['a']);
});

describe('an entry that cannot be read', () => {
  it('stops the behaviors before it; the host and waiters get the error, and nothing is skipped', async () => {
    const clock = createManualClock();
    const inner = createMemoryLedger({ clock });
    let damaged: number | undefined;
    const ledger = alterLedger(inner, {
      readEntries: async (query) =>
        (await inner.readEntries(query)).map((entry) =>
          entry.position === damaged ? { ...entry, text: entry.text.slice(1) } : entry,
        ),
    });
    const troubles: RuntimeTrouble[] = [];
    const { runtime, turn } = setStage({
      tools: [get],
      ledger,
      clock,
      onTrouble: (trouble) => {
        troubles.push(trouble);
        throw new Error('nobody home'); // which changes nothing
      },
    });
    const heard: string[] = [];
    const listen = runtime.events.on(
      { name: 'listen', on: 'tool.responded' },
      (event) => void heard.push(event.callId),
    );
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await listen.caughtUp();
    const last = await lastPosition(inner);
    damaged = last + 1;
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await turn.call(envelope('c', 'get_it', { n: 3 }));
    const place = { code: 'ledger.damaged', facts: { sessionId: 's', position: String(last + 1) } };
    await expect(listen.caughtUp()).rejects.toMatchObject(place);
    for (let again = 0; again < 3; again++) {
      clock.advance(60_000);
      await quiet();
    }
    expect(troubles).toMatchObject([
      { type: 'behavior.stuck', behavior: 'listen', position: last, error: place },
    ]);
    expect(troubles[0]?.message).toContain('quittance verify');
    expect(heard).toEqual(['a']);
    expect(await readCursor(inner, 'listen')).toMatchObject({ position: last });
    damaged = undefined;
    clock.advance(60_000);
    await quiet();
    await listen.caughtUp();
    expect(heard).toEqual(['a', 'b', 'c']);
  });
});

describe('caughtUp', () => {
  it('waits for events that a returning behavior has missed, also on disk', async () => {
    const ledger = await onDisk();
    const runtime = createRuntime({ tools: [get], ledger });
    const heard: string[] = [];
    const listen = (): ReturnType<Runtime['events']['on']> =>
      runtime.events.on({ name: 'listen', on: 'tool.responded' }, async (event) => {
        await quiet();
        heard.push(event.callId);
      });
    const first = listen();
    await first.caughtUp();
    await first.off();
    const turn = runtime.turn({ sessionId: 's' });
    for (let n = 0; n < 20; n++) await turn.call(envelope(`c${n}`, 'get_it', { n }));
    await listen().caughtUp();
    expect(heard).toHaveLength(20);
    await runtime.close();
    await ledger.close();
  });

  it('waits for the process that runs the behavior, including events stored before this process started', async () => {
    const ledger = createMemoryLedger();
    const [one, two] = [createRuntime({ tools: [get], ledger }), createRuntime({ tools: [get], ledger })];
    const go = deferred();
    const heard: string[] = [];
    const first = one.events.on({ name: 'listen', on: 'tool.responded' }, async (event) => {
      await go.promise;
      heard.push(event.callId);
    });
    await first.caughtUp();
    await one.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
    const second = two.events.on({ name: 'listen', on: 'tool.responded' }, () => undefined);
    let isUp = false;
    const waiting = second.caughtUp().then(() => (isUp = true));
    await quiet();
    await quiet();
    expect(isUp).toBe(false);
    go.resolve();
    await waiting;
    expect(heard).toEqual(['a']);
    await Promise.all([one.close(), two.close()]);
  });
});

it('a behavior whose cursor is deleted while it runs continues from its position', async () => {
  const { runtime, turn, ledger } = setStage({ tools: [get] });
  const heard: string[] = [];
  const listen = runtime.events.on({ name: 'listen', on: 'tool.responded' }, (event, context) => {
    heard.push(event.callId);
    context.emit('order.flagged', {});
  });
  for (let n = 0; n < 3; n++) await turn.call(envelope(`c${n}`, 'get_it', { n }));
  await listen.caughtUp();
  await dropCursor(ledger, 'listen');
  await turn.call(envelope('c3', 'get_it', { n: 3 }));
  for (let n = 0; n < 20; n++) await quiet();
  await listen.caughtUp();
  expect((await emitted(runtime, 'order.flagged')).map(({ callId }) => callId)).toEqual([
    'c0',
    'c1',
    'c2',
    'c3',
  ]);
  await runtime.close();
});

it('a handler that does not stop lets the next runtime on the same ledger continue', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const one = createRuntime({ tools: [get], ledger, clock, cancelGraceMs: 100 });
  const entered = deferred();
  one.events.on({ name: 'stuck', on: 'tool.responded' }, () => {
    entered.resolve();
    return new Promise(() => undefined);
  });
  await one.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
  await entered.promise;
  const closing = one.close();
  await quiet();
  clock.advance(100);
  await closing;
  const two = createRuntime({ tools: [get], ledger, clock });
  const heard: string[] = [];
  two.events.on({ name: 'stuck', on: 'tool.responded' }, (event) => void heard.push(event.callId));
  for (let n = 0; n < 10; n++) {
    await quiet();
    clock.advance(1_000);
  }
  expect(heard).toEqual(['a']);
  await two.close();
});

describe('a behavior with a redelivery request', () => {
  it('gets the event even if it is in the ledger’s own chain', async () => {
    const { runtime, turn, ledger } = setStage({ tools: [get] });
    await turn.call(envelope('a', 'get_it'));
    const seen: number[] = [];
    const audit = runtime.events.on({ name: 'audit', on: 'session.dropped' }, (_, context) => {
      seen.push(context.attempt);
      if (context.attempt === 1) throw new Error('not now');
    });
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (_, context) =>
      context.retry(),
    );
    await audit.caughtUp();
    await again.caughtUp();
    await ledger.dropSession({ sessionId: 's', by: 'ada', reason: 'asked to' } as never);
    for (let n = 0; n < 4; n++) {
      await audit.caughtUp();
      await again.caughtUp();
    }
    expect(seen).toEqual([1, 2]);
    await runtime.close();
  });

  it('does not get it before its time because the runtime closes', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const seen: number[] = [];
    const flaky = runtime.events.on({ name: 'flaky', on: 'tool.responded' }, (_, context) => {
      seen.push(context.attempt);
      throw new Error('not yet');
    });
    const again = runtime.events.on({ name: 'again', on: 'behavior.failed' }, (_, context) =>
      context.retry({ afterMs: 5_000 }),
    );
    await turn.call(envelope('a', 'get_it'));
    await flaky.caughtUp();
    await again.caughtUp();
    for (let n = 0; n < 10; n++) await quiet();
    await runtime.close();
    expect(seen).toEqual([1]);
  });

  it('gets it once, however many requests there are', async () => {
    const { runtime, turn } = setStage({ tools: [get] });
    const seen: number[] = [];
    const flaky = runtime.events.on({ name: 'flaky', on: 'tool.responded' }, (_, context) => {
      seen.push(context.attempt);
      if (context.attempt === 1) throw new Error('not yet');
      context.emit('order.flagged', {});
    });
    const asking = ['one', 'two'].map((name) =>
      runtime.events.on({ name, on: 'behavior.failed' }, (_, context) => {
        context.retry();
        context.retry();
      }),
    );
    await turn.call(envelope('a', 'get_it'));
    for (let n = 0; n < 4; n++) {
      await flaky.caughtUp();
      for (const one of asking) await one.caughtUp();
    }
    expect(seen).toEqual([1, 2]);
    expect(await emitted(runtime, 'order.flagged')).toHaveLength(1);
    await runtime.close();
  });
});

it('a session that is dropped while a behavior handles its event does not stop the behavior', async () => {
  const { runtime, turn, ledger } = setStage({ tools: [get] });
  let runs = 0;
  const entered = deferred();
  const go = deferred();
  const heard: string[] = [];
  const listen = runtime.events.on({ name: 'listen', on: 'tool.responded' }, async (event, context) => {
    heard.push(event.callId);
    if (event.callId === 'b') return;
    if (runs++ > 50) throw new Error('over and over');
    entered.resolve();
    await go.promise;
    context.emit('order.flagged', {});
  });
  await turn.call(envelope('a', 'get_it'));
  await entered.promise;
  await ledger.dropSession({ sessionId: 's', by: 'ada', reason: 'asked to' } as never);
  go.resolve();
  await runtime.turn({ sessionId: 't' }).call(envelope('b', 'get_it'));
  for (let n = 0; n < 200; n++) await quiet();
  expect(runs).toBeLessThan(5);
  expect(heard.at(-1)).toBe('b');
  void listen;
  await runtime.close();
});

describe('a behavior', () => {
  it.each([
    ['null', null],
    [
      'something whose every property throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ],
    [
      'a revoked proxy',
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
    ],
    [
      'an error without end',
      Object.assign(new Error('x'.repeat(5_000_000)), { stack: 'y'.repeat(5_000_000) }),
    ],
    ['a tool error of no known reason', new ToolError('nonsense' as never, '\ud800 lone \u0000')],
    [
      'a tool error with odd extras',
      Object.assign(new ToolError('tool.timeout', 'slow'), { payloadExtras: { big: 1n } }),
    ],
    ['a tool error whose reason is a reserved word', new ToolError('__proto__' as never, 'm')],
  ])('a behavior that throws %s leaves one readable failure, and continues', async (_, thrown) => {
    const ledger = await onDisk();
    const runtime = createRuntime({ tools: [get], ledger });
    const heard: string[] = [];
    const odd = runtime.events.on({ name: 'odd', on: 'tool.responded' }, (event) => {
      heard.push(event.callId);
      if (event.callId === 'a') throw thrown;
    });
    const turn = runtime.turn({ sessionId: 's' });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await odd.caughtUp();
    expect(heard).toEqual(['a', 'b']);
    const failures = await eventsOf(runtime, 'behavior.failed');
    expect(failures).toHaveLength(1);
    expect(failures[0]?.reason).toMatch(/^(behavior\.error|tool\.)/);
    await runtime.close();
    await ledger.close();
  });

  it.each([
    ['a proto key', JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') as object],
    ['lone surrogates', { text: '\ud800', '\udfff': '\u0000' }],
    [
      'deep nesting',
      (() => {
        let at: object = {};
        for (let n = 0; n < 100_000; n++) at = { at };
        return at;
      })(),
    ],
    [
      'a getter that throws',
      {
        get x() {
          throw new Error('no');
        },
      },
    ],
    [
      'a cycle',
      (() => {
        const at: Record<string, unknown> = {};
        at['at'] = at;
        return at;
      })(),
    ],
    ['a lot', { text: 'x'.repeat(20_000_000) }],
  ])('a behavior that emits %s either has it stored or fails, once', async (_, data) => {
    const ledger = await onDisk();
    const runtime = createRuntime({ tools: [get], ledger });
    const heard: string[] = [];
    const odd = runtime.events.on({ name: 'odd', on: 'tool.responded' }, (event, context) => {
      heard.push(event.callId);
      if (event.callId === 'a') context.emit('odd.data', data as never);
    });
    const turn = runtime.turn({ sessionId: 's' });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    await turn.call(envelope('b', 'get_it', { n: 2 }));
    await odd.caughtUp();
    expect(heard).toEqual(['a', 'b']);
    const failures = await eventsOf(runtime, 'behavior.failed');
    const kept = await emitted(runtime, 'odd.data');
    expect(failures.length + kept.length).toBe(1);
    await runtime.close();
    await ledger.close();
  });
});
