import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyEvent } from '../../../../test/arbitrary-event.ts';
import { everyState, stageCalls } from '../../../../test/react/staged-calls.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import { statusSentence } from './status-words.ts';
import { readCallEvent } from './read-call-event.ts';
import { toolCallKey } from './tool-call-view.ts';
import { findToolCall, listToolCalls, noToolCalls, reduceToolCalls } from './tool-calls.ts';

const states = await everyState();
const viewOf = (events: readonly unknown[]) => {
  const [call] = listToolCalls(reduceToolCalls(noToolCalls, events));
  if (call === undefined) throw new Error('These events tell of no call.');
  return call;
};
const inState = (state: string) => viewOf(states.get(state) ?? []);

test.each([...states.keys()])('a call that is %s is shown as that', (state) => {
  expect(inState(state).status).toBe(state.split(/[ ,]/)[0]);
});

test.each([...states.values()].map((events) => [events[0]?.sessionId, events] as const))(
  'the order of events and how often they come make no difference: %#',
  (_, events) => {
    const expected = viewOf(events);
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2 }),
        fc.nat(events.length),
        (shuffled, cut) => {
          const inTwo = reduceToolCalls(
            reduceToolCalls(noToolCalls, shuffled.slice(0, cut)),
            shuffled.slice(cut),
          );
          expect(listToolCalls(inTwo)).toEqual([expected]);
        },
      ),
    );
  },
);

test('the risk of a tool is shown as recorded, next to its mode', () => {
  const [requested, ...others] = states.get('succeeded') ?? [];
  const withRisk = { ...requested, mode: 'external', risk: 'money' };
  expect(viewOf([withRisk, ...others])).toMatchObject({ mode: 'external', risk: 'money' });
  expect(readCallEvent({ ...withRisk, risk: { not: 'a text' } })).toBeUndefined();
});

test('any subset of the events of a call can be shown', () => {
  for (const events of states.values())
    fc.assert(
      fc.property(fc.subarray([...events], { minLength: 1 }), (some) => {
        const call = viewOf(some);
        expect(call.callId).toBe(events[0] && 'callId' in events[0] ? events[0].callId : undefined);
        // A missing request is not invented.
        expect(call.requestedInput !== undefined).toBe(some.some(({ type }) => type === 'tool.requested'));
      }),
    );
});

test('every call event that can be stored can be shown, also after a round trip through JSON', () => {
  fc.assert(
    fc.property(anyEvent, (event: QuittanceEvent) => {
      const sent: unknown = JSON.parse(JSON.stringify(event));
      const isAboutCall = 'callId' in event && event.callId !== undefined;
      expect(readCallEvent(sent) !== undefined).toBe(isAboutCall);
      expect(reduceToolCalls(noToolCalls, [sent]).size).toBe(isAboutCall ? 1 : 0);
    }),
    { numRuns: 1_000 },
  );
});

test('a value that is not a call event changes nothing', () => {
  const calls = reduceToolCalls(noToolCalls, states.get('held') ?? []);
  const requested = states.get('requested')?.[0];
  const others: unknown[] = [
    undefined,
    null,
    'tool.held',
    [],
    Object.create(requested ?? null),
    { ...requested, type: 'tool.dreamt' },
    { ...requested, type: '__proto__' },
    { ...requested, type: 'constructor' },
    { ...requested, id: 7 },
    { ...requested, mode: 'toString' },
    { ...requested, hidden: 'none' },
    { ...states.get('held')?.find(({ type }) => type === 'tool.held'), id: 'other', asks: [{ by: 'me' }] },
  ];
  expect(reduceToolCalls(calls, others)).toBe(calls);
  expect(reduceToolCalls(calls, states.get('held') ?? [])).toBe(calls);
});

test('events may arrive as tail items or in ledger entries', () => {
  const events = states.get('failed') ?? [];
  const plain = reduceToolCalls(noToolCalls, events);
  const tailed = events.map((event, position) => ({ position, event }));
  const entries = [{ position: 1, previous: 0, sessionId: 'shop', depth: 0, events }];
  for (const form of [tailed, entries]) expect(reduceToolCalls(noToolCalls, form)).toEqual(plain);
  for (const other of [{ events: 7 }, { event: null }, { events: [null, { events }] }])
    expect(reduceToolCalls(plain, [other])).toBe(plain);
});

test('a call without new events stays the same object', () => {
  const before = reduceToolCalls(noToolCalls, [
    ...(states.get('held') ?? []),
    ...(states.get('running') ?? []),
  ]);
  const after = reduceToolCalls(before, states.get('failed') ?? []);
  for (const [key, call] of before) expect(after.get(key)).toBe(call);
  expect(after.size).toBe(before.size + 1);
});

test('the same call id in two sessions means two calls', () => {
  const events = states.get('failed') ?? [];
  const elsewhere = events.map((event) => ({
    ...event,
    id: `${event.id}x`,
    sessionId: 'other',
    at: event.at + 1,
  }));
  const calls = reduceToolCalls(noToolCalls, [...events, ...elsewhere]);
  expect(calls.size).toBe(2);
  expect(findToolCall(calls, 'call_failed')?.sessionId).toBe('other');
  expect(findToolCall(calls, 'call_failed', 'shop')?.sessionId).toBe('shop');
  expect(findToolCall(calls, 'call_failed', 'nowhere')).toBeUndefined();
  expect(toolCallKey('a', 'b","c')).not.toBe(toolCallKey('a","b', 'c'));
});

describe('a question', () => {
  test('is open and complete while it waits, and bound to the shown arguments and preview', () => {
    const { confirmation, preview, input } = inState('held');
    expect(confirmation).toMatchObject({ isOpen: true, isComplete: true, revision: 1, status: 'pending' });
    expect(preview).toMatchObject({ revision: 1, preview: { kind: 'diff', path: 'billing/refunds.ts' } });
    expect(input).toEqual({ path: 'billing/refunds.ts', limit: 5_000 });
  });

  test.each(['tool.requested', 'tool.decided', 'tool.previewed'] as const)(
    'is incomplete without %s: a person cannot approve unseen parts',
    (type) => {
      const events = (states.get('held') ?? []).filter((event) => event.type !== type);
      expect(viewOf(events).confirmation).toMatchObject({ isOpen: true, isComplete: false });
    },
  );

  test('is about the preview revision it names, not a later one', () => {
    const events = states.get('held') ?? [];
    const shown = events.find(
      (event): event is Extract<CallEvent, { type: 'tool.previewed' }> => event.type === 'tool.previewed',
    );
    const later = {
      ...shown,
      id: 'later',
      revision: 2,
      cause: events.at(-1)?.id,
      preview: { kind: 'text', text: 'something else' },
    };
    expect(viewOf([...events, later]).preview).toMatchObject({ revision: 1, preview: { kind: 'diff' } });
  });

  test('is closed by its answer, before the outcome exists', () => {
    const events = (states.get('denied') ?? []).filter(({ type }) => type !== 'tool.responded');
    expect(viewOf(events)).toMatchObject({
      status: 'held',
      confirmation: { isOpen: false, status: 'denied', by: { name: 'ada' }, reason: 'Not during the sale.' },
    });
  });

  test('a question that was approved leaves the call requested until its intent is stored', async () => {
    const { runtime, begin, until, eventsOf } = stageCalls();
    const told = begin('c', 'drop_table', { table: 'carts' });
    await until('c', 'tool.held');
    const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (asked === undefined) throw new Error('Nothing is asked.');
    const { confirmationId, inputDigest } = asked;
    await runtime.confirmations.decide(confirmationId, {
      decision: 'edit',
      by: 'ada',
      inputDigest,
      arguments: { table: 'old_carts' },
    });
    await told;
    const events = await eventsOf('c');
    const approved = events.slice(0, events.findIndex(({ type }) => type === 'confirmation.decided') + 1);
    expect(viewOf(approved)).toMatchObject({
      status: 'requested',
      confirmation: { status: 'approved', isOpen: false },
      requestedInput: { table: 'carts' },
      input: { table: 'old_carts' },
      wasEdited: true,
    });
    expect(viewOf(events)).toMatchObject({ status: 'succeeded', input: { table: 'old_carts' } });
  });
});

test('destinations, log and duration of an external tool are shown', () => {
  expect(inState('succeeded')).toMatchObject({
    mode: 'external',
    modeOrigin: 'declared',
    reached: ['smtp.example.com:587', 'api.crm.example.com'],
    log: [{ message: 'connected' }, { message: 'accepted by the relay' }],
    attempts: [{ attempt: 1, outcome: { type: 'ToolExecutionResult' } }],
  });
});

test('undo is offered while possible, and names the person who used it', () => {
  expect(inState('succeeded, to be undone').undo).toEqual({ until: expect.any(Number) as number });
  expect(inState('undone')).toMatchObject({ undo: undefined, undone: { by: { name: 'ada' } } });
});

test('an unresolved call says so until it is resolved', async () => {
  expect(inState('indeterminate').unresolved).toBe(true);
  expect(inState('timed_out').unresolved).toBe(true);
  const { runtime, turn, begin, until, advance, eventsOf } = stageCalls();
  const told = begin('c', 'create_report', { id: 'x' });
  await until('c', 'tool.started');
  turn.cancel('c');
  advance(10);
  await told;
  await runtime.calls.reconcile({ sessionId: 'shop', callId: 'c' }, { resolution: 'failed', by: 'ada' });
  expect(viewOf(await eventsOf('c'))).toMatchObject({
    status: 'indeterminate',
    unresolved: false,
    resolution: { resolution: 'failed', by: { name: 'ada' } },
  });
});

test('a call between two attempts is running, and says that one failed', () => {
  const events = (states.get('failed') ?? []).map((event) =>
    event.type === 'tool.responded' ? { ...event, final: false } : event,
  );
  const last = events.at(-1);
  const retry = {
    ...last,
    id: 'retry',
    type: 'retry.requested',
    cause: last?.id,
    by: 'retry',
    attempt: 2,
    forEvent: last?.id,
    notBefore: (last?.at ?? 0) + 1_000,
  };
  const call = viewOf([...events, retry]);
  expect(call).toMatchObject({
    status: 'running',
    outcome: undefined,
    nextAttemptAt: retry.notBefore,
    attempts: [{ attempt: 1, outcome: { type: 'ToolFailure' } }],
  });
  expect(statusSentence(call)).toBe('Attempt 1 failed. It may be retried.');
});
