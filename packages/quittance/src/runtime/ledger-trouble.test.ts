import type { AnyTool, ToolOutcome } from 'quittance';
import type { Entry } from 'quittance/store';
import { defineTool, isQuittanceError, outcomeToModelContent } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import {
  auditKinds,
  deferred,
  envelope,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { SampleCall } from '../testing/sample-call.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

/** A memory ledger that refuses chosen appends, synchronously or asynchronously. */
function brittle(slow = false) {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  const broken = new Set<string>();
  const check = (what: string): void => {
    if (broken.has(what)) throw new Error(`disk full (${what})`);
  };
  const guard = <Answer>(what: string, act: () => Answer): Answer => {
    if (!slow) {
      check(what);
      return act();
    }
    return Promise.resolve().then(() => {
      check(what);
      return act();
    }) as Answer;
  };
  /** Appends of these kinds are stored, and fail all the same: the answer of the store was lost. */
  const unanswered = new Set<string>();
  /** The kind of an append: the type of its last event. */
  const boundary = ({ events }: Entry): string => events.at(-1)?.type ?? 'nothing';
  const ledger = alterLedger(inner, {
    append: (entry) =>
      guard(boundary(entry), async () => {
        const result = await inner.append(entry);
        if (unanswered.has(boundary(entry))) throw new Error('the answer was lost');
        return result;
      }),
    readCall: (sessionId, callId) => guard('readCall', () => inner.readCall(sessionId, callId)),
    whenChanged: (...asked) => guard('whenChanged', () => inner.whenChanged(...asked)),
    rows: {
      claims: (query) => guard('readClaim', () => inner.query('claims', query)),
      counters: (query) => guard('readCounters', () => inner.query('counters', query)),
      unsettled: (query) => guard('findUnsettledEffects', () => inner.query('unsettled', query)),
    },
    putArtifact: (artifact) => guard('putArtifact', () => inner.putArtifact(artifact)),
    readArtifact: (...asked) => guard('readArtifact', () => inner.readArtifact(...asked)),
    spill: { write: async (entry) => guard('spill', () => inner.spill.write(entry)) },
  });
  return { clock, ledger, broken, unanswered };
}

function onBrittle(slow = false) {
  const { clock, ledger, broken } = brittle(slow);
  let runs = 0;
  const stage = setStage({
    clock,
    ledger,
    tools: [
      defineTool({ name: 'pay', run: () => `paid ${++runs}` }),
      defineTool({ name: 'get_it', run: () => `got ${++runs}` }),
      defineTool({ name: 'get_much', run: () => `${++runs}`.padEnd(20_000, 'x') }),
      defineTool({ name: 'keyed', idempotencyKey: () => 'k', run: () => `paid ${++runs}` }),
      defineTool({ name: 'delete_it', run: () => `gone ${++runs}` }),
      defineTool({ name: 'ship', mode: 'external', handoff: true }),
    ],
    budgets: [{ scope: 'session', toolCalls: 100 }],
    onConfirm: () => ({ decision: 'approve', by: 'ada' }),
  });
  return { ...stage, broken, runs: () => runs };
}

const unavailable = { type: 'ToolFailure', code: 'ledger.unavailable', retryable: true };
const doubtful = { type: 'ToolFailure', code: 'tool.indeterminate', retryable: false };

describe.each([
  ['answers synchronously', false],
  ['answers later', true],
])('a ledger that fails and %s', (_, slow) => {
  it.each([
    ['reading the call', 'readCall', 'pay'],
    ['looking for twins', 'findUnsettledEffects', 'pay'],
    ['looking at the budgets', 'readCounters', 'get_it'],
    ['looking at a key', 'readClaim', 'keyed'],
    ['keeping the intent', 'tool.started', 'pay'],
    ['keeping the intent of a read under a limit', 'tool.started', 'get_it'],
    ['keeping the hold', 'tool.held', 'delete_it'],
    ['keeping a denial', 'tool.responded', 'nope'],
  ])(
    'fails at %s: nothing ran, the call was not accepted, and the same id may ask again',
    async (__, what, name) => {
      const { broken, runtime, turn, runs } = onBrittle(slow);
      broken.add(what);
      const outcome = await turn.call(envelope('c', name));
      expect(outcome).toMatchObject(unavailable);
      expect('error' in outcome && outcome.error).toContain('disk full');
      expect(runs()).toBe(0);
      broken.clear();
      expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
      const again = await turn.call(envelope('c', name));
      expect(again).not.toMatchObject(unavailable);
      expect(runs()).toBe(name === 'nope' ? 0 : 1);
      await expectSettledOnce(runtime);
    },
  );

  it('fails at the outcome: the body ran, its end is unknown, and a repeated request gets the same answer', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('tool.responded');
    const outcome = await turn.call(envelope('c', 'pay'));
    expect(outcome).toMatchObject(doubtful);
    expect(runs()).toBe(1);
    const stillBroken = await turn.call(envelope('c', 'pay'));
    expect(stillBroken).toEqual(outcome);
    broken.clear();
    const again = await turn.call(envelope('c', 'pay'));
    expect(again).toEqual(outcome);
    expect(runs()).toBe(1);
    expect(await auditKinds(runtime, 'c')).toContain('completed');
    await expectSettledOnce(runtime);
  });

  it('fails while a call waits for its worker: it waits on, and no bare error reaches the caller', async () => {
    const { broken, clock, runtime, turn } = onBrittle(slow);
    broken.add('whenChanged');
    const reply = turn.call(envelope('c', 'ship')).catch((error: unknown) => error);
    await quiet();
    broken.clear();
    const claimed = await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' });
    await runtime.handoffs.report(claimed?.token ?? '', { output: 'shipped' });
    clock.advance(10_000);
    expect(await reply).toMatchObject({ type: 'ToolExecutionResult', output: 'shipped' });
  });

  it('[nothing-lost] fails at the outcome and at spilling it: no caller sees it as stored', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    for (const what of ['tool.responded', 'spill']) broken.add(what);
    const outcome = await turn.call(envelope('c', 'pay'));
    expect(outcome).toMatchObject(doubtful);
    expect(outcome.modelNote).toBeUndefined();
    broken.clear();
    expect(await turn.call(envelope('c', 'pay'))).toEqual(outcome);
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('[nothing-lost] fails at the outcome of a read and at spilling it: no caller sees an outcome before one is stored', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    for (const what of ['tool.responded', 'spill']) broken.add(what);
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject(unavailable);
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject(unavailable);
    broken.clear();
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({ output: 'got 1' });
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('fails at the outcome: the call leaves a twin, and the same request under a new id asks a person', async () => {
    const { broken, runtime, turn } = onBrittle(slow);
    broken.add('tool.responded');
    await turn.call(envelope('c', 'pay'));
    broken.clear();
    await turn.call(envelope('c', 'pay'));
    await turn.call(envelope('d', 'pay'));
    expect(await auditKinds(runtime, 'd')).toEqual(['requires_confirmation', 'completed']);
  });

  it('fails at storing a large output: the body ran, and its output stays on the record', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('putArtifact');
    const outcome = await turn.call(envelope('c', 'get_much'));
    expect(outcome).toMatchObject({ ...doubtful, payloadExtras: { output: expect.anything() as unknown } });
    expect(outcomeToModelContent(outcome).length).toBeLessThan(1_000);
    expect(await auditKinds(runtime, 'c')).toEqual(['persistence_failed', 'completed']);
    const [failed] = await runtime.calls.audit({ sessionId: 's', callId: 'c' });
    expect(failed?.outcome).toMatchObject({
      kind: 'persistence_failed',
      boundary: 'artifact',
      result: { success: true },
    });
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('fails at a person’s answer: nothing runs on an approval that is not stored, and a new request asks again', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('confirmation.decided');
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject(unavailable);
    expect(runs()).toBe(0);
    broken.clear();
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject({ output: 'gone 1' });
    expect(await auditKinds(runtime, 'c')).toEqual([
      'requires_confirmation',
      'persistence_failed',
      'completed',
    ]);
    await expectSettledOnce(runtime);
  });

  it('fails at the intent after an approval: nothing ran, and a new request runs it once', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('tool.started');
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject(unavailable);
    expect(runs()).toBe(0);
    broken.clear();
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject({ output: 'gone 1' });
    await expectSettledOnce(runtime);
  });

  it('fails at the intent of a submitted call: nothing ran, and a new request runs it once', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('tool.started');
    const submitted = turn.submit(envelope('c', 'pay'));
    expect(await submitted.outcome()).toMatchObject(unavailable);
    broken.clear();
    expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: 'paid 1' });
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('fails at the intent of a submitted call: another request with its id does not block it', async () => {
    const { broken, runtime, turn, runs } = onBrittle(slow);
    broken.add('tool.started');
    await turn.submit(envelope('c', 'pay', { n: 1 })).outcome();
    broken.clear();
    const asked = [2, 1, 3].map((n) => turn.call(envelope('c', 'pay', { n })));
    expect(await Promise.all(asked)).toMatchObject([
      { reason: 'conflict' },
      { output: 'paid 1' },
      { reason: 'conflict' },
    ]);
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('fails at a recall: the recorded outcome is still returned, never "nothing ran"', async () => {
    const { broken, turn } = onBrittle(slow);
    const outcome = await turn.call(envelope('c', 'pay'));
    broken.add('tool.recalled');
    expect(await turn.call(envelope('c', 'pay'))).toEqual(outcome);
    expect(await turn.call(envelope('c', 'pay', { other: 1 }))).toMatchObject({ reason: 'conflict' });
  });

  it('fails at a late result: it is not reported, and nothing breaks', async () => {
    const { clock, ledger, broken } = brittle(slow);
    const body = deferred<string>();
    const { runtime, turn } = setStage({
      clock,
      ledger,
      tools: [defineTool({ name: 'pay', timeoutMs: 10, run: () => body.promise })],
    });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    clock.advance(10);
    expect(await asked).toMatchObject({ type: 'ToolTimeout' });
    broken.add('tool.late');
    body.resolve('late');
    await quiet();
    expect(await eventTypes(runtime, 'c')).not.toContain('tool.late');
    await expectSettledOnce(runtime);
  });

  it('fails at the end of a turn: the turn is still over, and its confirmations are withdrawn', async () => {
    const { clock, ledger, broken } = brittle(slow);
    const { runtime, turn } = setStage({
      clock,
      ledger,
      tools: [defineTool({ name: 'delete_it', run: () => 1 }), defineTool({ name: 'get_it', run: () => 1 })],
      onConfirm: () => new Promise(() => undefined),
    });
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    broken.add('turn.ended');
    await turn.end({ withdraw: true }).catch(() => undefined);
    expect(await asked).toMatchObject({ reason: 'ended' });
    expect(await turn.call(envelope('d', 'get_it'))).toMatchObject({ reason: 'ended' });
    await expectSettledOnce(runtime);
  });

  it('fails at the first call of a turn: a turn that never began does not end', async () => {
    const { broken, runtime, turn } = onBrittle(slow);
    broken.add('tool.started');
    await turn.call(envelope('c', 'pay'));
    broken.clear();
    await turn.end();
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
  });

  it('fails for one call does not affect another', async () => {
    const { broken, runtime, turn } = onBrittle(slow);
    broken.add('tool.started');
    const failed = turn.call(envelope('a', 'pay'));
    expect(await failed).toMatchObject(unavailable);
    broken.clear();
    const outcomes = (await turn.callAll(
      ['b', 'c', 'd'].map((id) => envelope(id, 'get_it', { id })),
    )) as ToolOutcome[];
    expect(outcomes.every(({ type }) => type === 'ToolExecutionResult')).toBe(true);
    const opened = (await runtime.events.list({ sessionId: 's' })).filter(
      ({ type }) => type === 'turn.opened',
    );
    expect(opened).toHaveLength(1);
    await expectSettledOnce(runtime);
  });
});

describe('[nothing-lost] a ledger that fails at people’s decisions', () => {
  const tools = (ran: string[]): AnyTool[] => [
    defineTool({ name: 'delete_it', run: (_, { callId }) => ran.push(callId) }),
    defineTool({ name: 'send_it', mode: 'external', handoff: true }),
  ];
  const staged = () => {
    const { clock, ledger, broken } = brittle(false);
    const ran: string[] = [];
    return { ...setStage({ clock, ledger, tools: tools(ran) }), ran, broken };
  };
  const failing = async (asked: Promise<unknown>): Promise<unknown> =>
    asked.then(
      () => 'nothing',
      (error: unknown) => (isQuittanceError(error) ? error.code : error),
    );

  it('[nothing-lost] fails at the hold: the call is not accepted, and the same id asks once', async () => {
    const { runtime, turn, ran, broken } = staged();
    broken.add('tool.held');
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject(unavailable);
    expect((await runtime.confirmations.list()).rows).toEqual([]);
    broken.clear();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    const [held] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    await runtime.confirmations.decide(held?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: held?.inputDigest ?? '',
    });
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual(['c']);
  });

  it('[nothing-lost] fails at the decision: it does not count, and the person gets an error and can decide again', async () => {
    const { runtime, turn, ran, broken } = staged();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    const [held] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    const yes = { decision: 'approve', by: 'ada', inputDigest: held?.inputDigest ?? '' } as const;
    broken.add('confirmation.decided');
    expect(await failing(runtime.confirmations.decide(held?.confirmationId ?? '', yes))).toBe(
      'ledger.unavailable',
    );
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
    expect(ran).toEqual([]);
    broken.clear();
    await runtime.confirmations.decide(held?.confirmationId ?? '', yes);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual(['c']);
  });

  it('[nothing-lost] fails at the report: the worker gets an error, and a repeated report is stored', async () => {
    const { runtime, turn, broken } = staged();
    const asked = turn.call(envelope('c', 'send_it'));
    await quiet();
    const { token } = await runtime.handoffs.claim({ sessionId: 's', callId: 'c' }, { worker: 'w' });
    broken.add('tool.responded').add('tool.reported');
    expect(await failing(runtime.handoffs.report(token, { output: 'sent' }))).toBe('ledger.unavailable');
    broken.clear();
    expect(await runtime.handoffs.report(token, { output: 'sent' })).toMatchObject({ status: 'settled' });
    expect(await asked).toMatchObject({ output: 'sent' });
    await expectSettledOnce(runtime);
  });
  it.each(['lease', 'cancel'])(
    '[told-equals-kept] fails at the end of a %s: no caller sees anything that the ledger does not have',
    async (kind) => {
      const { clock, ledger, broken } = brittle(false);
      const { runtime, turn } = setStage({ clock, ledger, tools: tools([]) });
      const stop = new AbortController();
      const told: ToolOutcome[] = [];
      const asked = turn.call(envelope('c', 'send_it'), { signal: stop.signal });
      void asked.then((outcome) => told.push(outcome));
      await quiet();
      await runtime.handoffs.claim({ sessionId: 's', callId: 'c' }, { worker: 'w', leaseMs: 2_000 });
      await quiet();
      broken.add('tool.responded');
      if (kind === 'cancel') stop.abort();
      for (let step = 0; step < 10; step++) {
        clock.advance(1_000);
        await quiet();
      }
      expect(told).toEqual([]);
      broken.clear();
      for (let step = 0; step < 10; step++) {
        clock.advance(1_000);
        await quiet();
      }
      const outcome = await asked;
      const events = await runtime.events.list({ sessionId: 's' });
      expect(events.filter(({ type }) => type === 'tool.responded')).toMatchObject([{ outcome }]);
    },
  );
});

it('[nothing-lost] a ledger that cannot tell who was first to end a call stops no other call, and the end is stored later', async () => {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  let state: 'full' | 'silent' | 'well' = 'full';
  const ledger = alterLedger(inner, {
    async append(entry) {
      if (entry.callId === 'c' && entry.events.some(({ type }) => type === 'tool.responded')) {
        if (state === 'full') throw new Error('disk full');
        if (state === 'silent') return { status: 'conflict', version: 9 };
      }
      return inner.append(entry);
    },
    async readCall(sessionId, callId) {
      if (state === 'silent' && callId === 'c') throw new Error('no line');
      return inner.readCall(sessionId, callId);
    },
    spill: {
      write: () => {
        throw new Error('disk full');
      },
    },
  });
  const { runtime, turn } = setStage({
    clock,
    ledger,
    tools: [defineTool({ name: 'pay', run: ({ n }) => n })],
  });
  const outcome = await turn.call(envelope('c', 'pay', { n: 1 }));
  expect(outcome).toMatchObject(doubtful);
  state = 'silent';
  expect(await turn.call(envelope('d', 'pay', { n: 2 }))).toMatchObject({ output: 2 });
  state = 'well';
  expect(await turn.call(envelope('e', 'pay', { n: 3 }))).toMatchObject({ output: 3 });
  expect(await turn.call(envelope('c', 'pay', { n: 1 }))).toEqual(outcome);
  await expectSettledOnce(runtime);
});

it('[nothing-lost] a spilled outcome counts although the session has moved on since', async () => {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  const entry: Entry = {
    ...new SampleCall('c', { sessionId: 's' }).whole(),
    moves: [{ subject: 'workflow', expectedVersion: 3 }],
  };
  const dropped: unknown[] = [];
  const ledger = alterLedger(inner, {
    spill: {
      read: async () => (dropped.length === 0 ? [{ ownerId: 'own_gone', entries: [entry] }] : []),
      drop: async (_, entryId) => dropped.push(entryId) > 0,
    },
  });
  const { runtime } = setStage({ clock, ledger, tools: [] });
  await runtime.recover();
  expect((await inner.readCall('s', 'c'))?.events).toEqual(entry.events);
  expect(dropped).toContain(entry.entryId);
});

it('[nothing-lost] the error of a failing ledger is stored with the spilled entry, in at most 500 characters', async () => {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  const spilled: Entry[] = [];
  const ledger = alterLedger(inner, {
    append: (entry) => {
      if (entry.events.some(({ type }) => type === 'tool.responded')) throw new Error('x'.repeat(2_000));
      return inner.append(entry);
    },
    spill: { write: async (entry) => spilled.push(entry) > 0 },
  });
  const { turn } = setStage({ clock, ledger, tools: [defineTool({ name: 'pay', run: () => 'paid' })] });
  expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: 'paid' });
  const failed = spilled[0]?.events.find(({ type }) => type === 'persistence.failed');
  expect(failed).toMatchObject({ boundary: 'settle', keptIn: 'spill' });
  expect((failed as { error?: string }).error).toHaveLength(500);
});

it('a call whose record cannot be read is not said to have run nowhere: an earlier request may have run', async () => {
  const { broken, turn, runs } = onBrittle();
  expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: 'paid 1' });
  broken.add('readCall');
  const again = await turn.call(envelope('c', 'pay'));
  expect(again).toMatchObject(unavailable);
  expect('error' in again && again.error).toContain('not known whether this call was made before');
  broken.clear();
  expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: 'paid 1' });
  expect(runs()).toBe(1);
});

it('an approved call whose entries cannot be compared is not run, and the same id runs it later', async () => {
  const clock = createManualClock();
  const inner = createMemoryLedger({ clock });
  let isBroken = true;
  const ledger = alterLedger(inner, {
    readCall: async (...asked) => {
      const stored = await inner.readCall(...asked);
      const findAlteration = async (): Promise<undefined> => {
        if (isBroken) throw new Error('EIO: i/o error, read');
      };
      return stored && { ...stored, findAlteration };
    },
  });
  const ran: string[] = [];
  const { turn } = setStage({
    clock,
    ledger,
    tools: [defineTool({ name: 'delete_it', run: (_, { callId }) => ran.push(callId) })],
    onConfirm: () => ({ decision: 'approve', by: 'ada' }),
  });
  expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject(unavailable);
  expect(ran).toEqual([]);
  isBroken = false;
  expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject({ type: 'ToolExecutionResult' });
  expect(ran).toEqual(['c']);
});

it('[no-silent-rerun] a hand-off whose start was stored without an answer is not said to have run nowhere', async () => {
  const { clock, ledger, unanswered } = brittle();
  const { runtime, turn } = setStage({
    clock,
    ledger,
    tools: [defineTool({ name: 'ship', mode: 'external', handoff: true })],
  });
  unanswered.add('tool.started');
  const outcome = await turn.call(envelope('c', 'ship', { order: 7 }));
  expect(outcome).toMatchObject({ code: 'ledger.unavailable', retryable: false, inDoubt: true });
  expect(outcome).toHaveProperty('error', expect.stringContaining('not known whether a worker has the call'));
  unanswered.clear();
  // A worker has it, and the same id gets what it reports.
  const asked = turn.call(envelope('c', 'ship', { order: 7 }));
  const claimed = await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' });
  await runtime.handoffs.report(claimed?.token ?? '', { output: 'shipped' });
  expect(await asked).toMatchObject({ type: 'ToolExecutionResult', output: 'shipped' });
});
