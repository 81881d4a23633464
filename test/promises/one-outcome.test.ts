import type { ToolOutcome } from 'quittance';
import {
  createRuntime,
  defineTool,
  isQuittanceError,
  outcomeToModelContent,
  ToolDecision,
  ToolError,
} from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, eventTypes, expectSettledOnce, quiet, setStage } from '../stage.ts';

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

const trap = (): never => {
  throw new Error('trap');
};

/** Looks like a ToolError: another copy of this package, or a careless body, may throw it. */
const forged = (fields: object): object =>
  Object.assign(Object.create({ [Symbol.for('quittance.tool-error')]: true }) as object, {
    reason: 'tool.network_error',
    message: 'forged',
    retryable: true,
    payloadExtras: {},
    ...fields,
  });

/** An object whose properties can be read a number of times and throw from then on. */
const tired = (answers: number, fields: object): object => {
  let left = answers;
  return new Proxy(fields, {
    get: (target, key, receiver) => (left-- > 0 ? (Reflect.get(target, key, receiver) as unknown) : trap()),
  });
};

type Settle = (value: unknown) => void;

/** The lint rightly warns about objects with this method. */
const waitedForBy = ['th', 'en'].join('');

/** A thenable that breaks the rules of promises. */
const thenable = (begin: (resolve: Settle, reject: Settle) => void): unknown => ({ [waitedForBy]: begin });

const endings: Readonly<Record<string, () => unknown>> = {
  'returns a value': () => ({ ok: 1 }),
  'returns nothing': () => undefined,
  'returns NaN': () => Number.NaN,
  'returns a BigInt': () => 10n,
  'returns a symbol': () => Symbol('s'),
  'returns a function': () => () => 1,
  'returns a cycle': () => cyclic,
  'returns a getter that throws': () => ({
    get boom() {
      return trap();
    },
  }),
  'returns a proxy that throws': () =>
    new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap }),
  'returns an object with a then that throws': () =>
    Object.defineProperty({}, waitedForBy, { enumerable: true, get: trap }),
  'returns a thenable that resolves twice and rejects': () =>
    thenable((resolve, reject) => {
      resolve(1);
      resolve(2);
      reject(new Error('three'));
    }),
  'returns a thenable that rejects and resolves': () =>
    thenable((resolve, reject) => {
      reject(new Error('one'));
      resolve(2);
    }),
  'returns a thenable that resolves and then throws': () =>
    thenable((resolve) => {
      resolve(1);
      trap();
    }),
  'returns a promise that throws when it is looked at': () =>
    Object.defineProperty(Promise.resolve(1), 'constructor', { get: trap }),
  'returns JSON nested 10,000 deep': () => {
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level++) deep = [deep];
    return deep;
  },
  'returns an error it reports': () => ({ error: 'no such order' }),
  'throws an error': trap,
  'throws undefined': () => Promise.reject(undefined as never),
  'throws null': () => Promise.reject(null as never),
  'throws text': () => Promise.reject('text' as never),
  'throws an object with getters that throw': () =>
    Promise.reject({
      get message() {
        return trap();
      },
      get name() {
        return trap();
      },
      get stack() {
        return trap();
      },
      get cause() {
        return trap();
      },
      get code() {
        return trap();
      },
      toString: trap,
    } as never),
  'throws a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return Promise.reject(proxy as never);
  },
  'throws a ToolError': () => Promise.reject(new ToolError('tool.network_error', 'offline')),
  'throws a ToolError of a made-up reason': () => Promise.reject(new ToolError('nonsense' as never, 'odd')),
  'throws a look-alike of a ToolError with a cycle': () =>
    Promise.reject(forged({ payloadExtras: cyclic }) as never),
  'throws a look-alike of a ToolError with a BigInt': () =>
    Promise.reject(forged({ payloadExtras: { big: 10n } }) as never),
  'throws a look-alike of a ToolError that grows tired of being read': () =>
    Promise.reject(tired(6, forged({})) as never),
  'throws an error whose message is not a text': () =>
    Promise.reject(Object.assign(new Error('x'), { message: { not: 'text' }, stack: 7, name: 3n }) as never),
};

describe('[one-outcome] every accepted call ends in exactly one outcome', () => {
  it.each(Object.keys(endings))('[one-outcome] when a body %s', async (ending) => {
    const run = endings[ending] ?? trap;
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'get_it', run }),
        defineTool({ name: 'pay', run }),
        defineTool({ name: 'check', output: { type: 'object' }, run }),
        defineTool({ name: 'judge', successCheck: async () => Promise.resolve(true), run }),
      ],
    });
    const outcomes = await turn.callAll(
      ['get_it', 'pay', 'check', 'judge'].map((name) => envelope(`c-${name}`, name)),
    );
    for (const outcome of outcomes)
      expect(JSON.parse(outcomeToModelContent(outcome as ToolOutcome))).toBeDefined();
    expect(await runtime.calls.list({ sessionId: 's' })).toHaveLength(4);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] when a body never returns', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'hang', timeoutMs: 50, run: () => new Promise(() => undefined) })],
    });
    const outcome = turn.call(envelope('c', 'hang'));
    await quiet();
    clock.advance(50);
    expect(await outcome).toMatchObject({ type: 'ToolTimeout', elapsedMs: 50 });
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] when its timeout, its cancellation and its end coincide', async () => {
    for (const order of ['end first', 'cancel first', 'timeout first'] as const) {
      const body = deferred<string>();
      const { clock, runtime, turn } = setStage({
        cancelGraceMs: 0,
        tools: [defineTool({ name: 'pay', timeoutMs: 50, run: () => body.promise })],
      });
      const outcome = turn.call(envelope('c', 'pay'));
      await quiet();
      if (order === 'end first') body.resolve('done');
      if (order === 'cancel first') turn.cancel('c');
      clock.advance(50);
      turn.cancel('c');
      body.resolve('done');
      await outcome;
      await quiet();
      await expectSettledOnce(runtime);
    }
  });

  it('[one-outcome] when a cancelled body throws an unreadable object', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          run: (_, { signal }) =>
            new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(proxy as never))),
        }),
      ],
    });
    const outcome = turn.call(envelope('c', 'pay'));
    await quiet();
    turn.cancel('c');
    expect(await outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.execution_error' });
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] when the same call is made many times at once', async () => {
    let runs = 0;
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'pay', run: async () => ++runs })] });
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => turn.call(envelope('c', 'pay', { to: 'ada' }))),
    );
    expect(runs).toBe(1);
    expect(new Set(outcomes)).toHaveProperty('size', 1);
    expect(await eventTypes(runtime, 'c')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.responded',
    ]);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] when two runtimes on one ledger make the same call at once', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    for (const [name, mode] of [
      ['get_it', 'read'],
      ['pay', 'external'],
    ] as const) {
      const answers: string[] = [];
      const runtimes = ['first', 'second'].map((which) =>
        createRuntime({
          clock,
          ledger,
          tools: [
            defineTool({
              name,
              mode,
              run: async () => {
                answers.push(which);
                return { which };
              },
            }),
          ],
        }),
      );
      const outcomes = await Promise.all(
        runtimes.map((runtime) => runtime.turn({ sessionId: name }).call(envelope('c', name))),
      );
      expect(outcomes[1]).toEqual(outcomes[0]);
      // A read changes nothing, so each may run; an effect happens once.
      expect(answers).toHaveLength(mode === 'read' ? 2 : 1);
      for (const runtime of runtimes) await expectSettledOnce(runtime, name);
      const types = await eventTypes(createRuntime({ ledger, tools: [] }), 'c', name);
      expect(types.filter((type) => type === 'tool.requested')).toHaveLength(1);
      expect(types.filter((type) => type === 'tool.started')).toHaveLength(1);
      expect(types.filter((type) => type === 'tool.recalled')).toHaveLength(1);
    }
  });

  it('[one-outcome] when a person answers, the question is withdrawn and the call is cancelled at once', async () => {
    for (const rivals of [
      ['answer', 'withdraw', 'cancel'],
      ['withdraw', 'cancel', 'answer'],
      ['cancel', 'answer', 'withdraw'],
    ]) {
      const answer = deferred<{ decision: 'approve'; by: string }>();
      const { runtime, turn } = setStage({
        tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
        onConfirm: () => answer.promise,
      });
      const outcome = turn.call(envelope('c', 'delete_it'));
      await quiet();
      let ended: Promise<void> | undefined;
      for (const rival of rivals) {
        if (rival === 'answer') answer.resolve({ decision: 'approve', by: 'ada' });
        if (rival === 'withdraw') ended = turn.end({ withdraw: true });
        if (rival === 'cancel') turn.cancel('c');
      }
      await outcome;
      await ended;
      await expectSettledOnce(runtime);
    }
  });

  it('[one-outcome] when gates deny it, each in its own way', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'pay', input: { type: 'object', required: ['to'] }, run: () => 1 }),
        defineTool({ name: 'delete_it', run: () => 1 }),
        defineTool({
          name: 'break_it',
          run: () => Promise.reject(new ToolError('tool.execution_error', 'x', { retryable: false })),
        }),
      ],
      onPreToolUse: ({ arguments: { stop } }) =>
        stop === true ? ToolDecision.block('stopped') : ToolDecision.allow,
      onConfirm: () => ({ decision: 'deny', by: 'ada' }),
      budgets: [{ scope: 'session', toolCalls: 2 }],
    });
    await turn.call(envelope('unknown', 'nope'));
    await turn.call(envelope('invalid', 'pay', {}));
    await turn.call(envelope('no json', 'pay', '{"to": '));
    await turn.call(envelope('hook', 'pay', { to: 'ada', stop: true }));
    await turn.call(envelope('a person says no', 'delete_it'));
    await turn.call(envelope('breaks', 'break_it'));
    await turn.call(envelope('blocked', 'break_it'));
    await turn.call(envelope('runs', 'pay', { to: 'ada' }));
    await turn.call(envelope('budget', 'pay', { to: 'bob' }));
    await turn.end();
    await turn.call(envelope('ended', 'pay', { to: 'cy' }));
    const responded = await eventsOf(runtime, 'tool.responded');
    expect(
      responded.map(({ outcome }) =>
        'reason' in outcome ? outcome.reason : ('code' in outcome && outcome.code) || 'ok',
      ),
    ).toEqual([
      'tool.unknown',
      'validation',
      'validation',
      'pre_hook',
      'write_denied',
      'tool.execution_error',
      'blocked',
      'ok',
      'budget',
      'ended',
    ]);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] every accepted call ends in exactly one outcome and a call with a malformed envelope is not accepted: it throws and leaves no record', async () => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => 1 })] });
    for (const wrong of [
      null,
      'pay',
      [],
      {},
      { id: '', name: 'pay' },
      { id: 'c' },
      { name: 'pay', arguments: {} },
    ]) {
      const thrown = await turn.call(wrong as never).catch((error: unknown) => error);
      expect(isQuittanceError(thrown, 'call.malformed')).toBe(true);
    }
    await expect(turn.callAll([envelope('fine', 'pay'), { id: 1 } as never])).rejects.toThrow('exactly');
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
  });
});
