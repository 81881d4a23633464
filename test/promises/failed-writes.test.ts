/** `persistence_failed` at every boundary, on a ledger that fails for a while. Through the public API. */
import type { AnyTool, Runtime, ToolOutcome } from 'quittance';
import type { ToolAuditRecord } from 'quittance/events';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { failingLedger, has } from '../fail-writes.ts';
import { question, refusal, yes } from '../people/question.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet } from '../stage.ts';

const codeOf = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

const failuresOf = async (runtime: Runtime, callId: string): Promise<ToolAuditRecord['outcome'][]> =>
  (await runtime.calls.audit({ sessionId: 's', callId }))
    .map(({ outcome }) => outcome)
    .filter(({ kind }) => kind === 'persistence_failed');

const ran: string[] = [];
const tool = (name: string, traits: object = {}): AnyTool =>
  defineTool({
    name,
    mode: 'external',
    run: (_, { callId }) => {
      ran.push(callId);
      return { did: callId };
    },
    ...traits,
  });

const tools = [
  tool('pay'),
  tool('look', { mode: 'read' }),
  tool('drop', { mode: 'destructive' }),
  defineTool({ name: 'ship', mode: 'external', handoff: true }),
];

describe('[nothing-lost] a failed write before the body', () => {
  it.each([
    ['request', 'pay', { isGone: true }],
    ['intent', 'pay', { failAt: has('tool.started') }],
    ['hold', 'drop', { failAt: has('tool.held') }],
  ] as const)(
    'leaves the call unaccepted and is on record, even after the call is repeated: %s',
    async (boundary, name, failure) => {
      ran.length = 0;
      const failing = failingLedger();
      const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
      Object.assign(failing, failure);
      const turn = runtime.turn({ sessionId: 's' });
      // Twice: only the first failure per boundary is recorded.
      for (const _ of [1, 2])
        expect(codeOf(await turn.call(envelope('a', name, { n: 1 })))).toBe('ledger.unavailable');
      failing.isGone = false;
      failing.failAt = undefined;
      await turn.call(envelope('next', 'look'));
      expect(await failing.ledger.readCall('s', 'a')).toBeUndefined();
      const again = turn.call(envelope('a', name, { n: 1 }));
      if (boundary === 'hold') {
        const asked = await question(runtime, 'a');
        await runtime.confirmations.decide(asked.confirmationId, yes(asked));
      }
      expect(await again).toMatchObject({ output: { did: 'a' } });
      expect(await failuresOf(runtime, 'a')).toEqual([
        { kind: 'persistence_failed', boundary, error: 'EIO: i/o error, write' },
      ]);
      expect(ran).toEqual(['next', 'a']);
      await expectSettledOnce(runtime);
    },
  );

  it('a failed write before the body of a call in the ledger is on record with the next call', async () => {
    ran.length = 0;
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    const turn = runtime.turn({ sessionId: 's' });
    const made = turn.call(envelope('a', 'drop'));
    const asked = await question(runtime);
    failing.failAt = has('tool.started');
    await runtime.confirmations.decide(asked.confirmationId, yes(asked));
    expect(codeOf(await made)).toBe('ledger.unavailable');
    failing.failAt = undefined;
    await turn.call(envelope('next', 'look'));
    expect(await failuresOf(runtime, 'a')).toMatchObject([{ boundary: 'intent' }]);
    expect(await turn.call(envelope('a', 'drop'))).toMatchObject({ output: { did: 'a' } });
    expect(ran).toEqual(['next', 'a']);
    await expectSettledOnce(runtime);
  });

  it('is on record without another call, by a timer', async () => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const runtime = createRuntime({ ledger: failing.ledger, tools, clock });
    const made = runtime.turn({ sessionId: 's' }).call(envelope('a', 'drop'));
    const asked = await question(runtime);
    failing.failAt = has('tool.started');
    await runtime.confirmations.decide(asked.confirmationId, yes(asked));
    await made;
    failing.failAt = () => true;
    clock.advance(1_500);
    await quiet();
    expect(await failuresOf(runtime, 'a')).toEqual([]);
    failing.failAt = undefined;
    clock.advance(3_000);
    await quiet();
    expect(await failuresOf(runtime, 'a')).toMatchObject([{ boundary: 'intent' }]);
  });
});

it('[nothing-lost] a decision that cannot be stored does not count and is on record', async () => {
  ran.length = 0;
  const failing = failingLedger();
  const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
  const made = runtime.turn({ sessionId: 's' }).call(envelope('a', 'drop'));
  const asked = await question(runtime);
  failing.failAt = has('confirmation.decided');
  expect((await refusal(runtime.confirmations.decide(asked.confirmationId, yes(asked)))).code).toBe(
    'ledger.unavailable',
  );
  failing.failAt = undefined;
  expect(ran).toEqual([]);
  await runtime.turn({ sessionId: 's' }).call(envelope('next', 'look'));
  expect(await failuresOf(runtime, 'a')).toEqual([
    {
      kind: 'persistence_failed',
      boundary: 'decision',
      error: 'The decision "approve" by ada was not stored: EIO: i/o error, write',
    },
  ]);
  await runtime.confirmations.decide(asked.confirmationId, yes(asked));
  expect(await made).toMatchObject({ output: { did: 'a' } });
  await expectSettledOnce(runtime);
});

it('[nothing-lost] a report that cannot be stored is on record with its content', async () => {
  const failing = failingLedger();
  const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
  void runtime.turn({ sessionId: 's' }).call(envelope('a', 'ship'));
  await quiet();
  const claimed = await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' });
  failing.failAt = has('tool.responded');
  const report = (): Promise<unknown> =>
    runtime.handoffs.report(claimed?.token ?? '', { output: { shipped: 7 } });
  expect((await refusal(report())).code).toBe('ledger.unavailable');
  failing.failAt = undefined;
  await runtime.turn({ sessionId: 's' }).call(envelope('next', 'look'));
  const [failed] = await failuresOf(runtime, 'a');
  expect(failed).toMatchObject({ boundary: 'report', result: { success: true, data: { shipped: 7 } } });
  await report();
  await expectSettledOnce(runtime);
});

describe('[nothing-lost] an end that neither the ledger nor the spill file could store', () => {
  it.each([
    ['a tool that may not run again', 'pay', 'tool.indeterminate'],
    ['a tool that may', 'look', 'ledger.unavailable'],
  ])('is on record with the result: %s', async (_title, name, code) => {
    const failing = failingLedger();
    const runtime = createRuntime({
      ledger: failing.ledger,
      clock: failing.clock,
      tools,
      budgets: [{ scope: 'session', toolCalls: 9 }],
    });
    failing.failAt = has('tool.responded');
    const turn = runtime.turn({ sessionId: 's' });
    const told = await turn.call(envelope('a', name));
    expect(codeOf(told)).toBe(code);
    expect(JSON.stringify(told)).not.toMatch(/process (has )?ended|was ended/);
    failing.failAt = undefined;
    await turn.call(envelope('next', 'look'));
    const [failed] = await failuresOf(runtime, 'a');
    expect(failed).toMatchObject({ boundary: 'settle', result: { success: true, data: { did: 'a' } } });
    expect(await eventsOf(runtime, 'persistence.failed')).toMatchObject([{ keptIn: 'nowhere' }]);
    await expectSettledOnce(runtime);
  });

  it('keeps the result if only the spill file works later', async () => {
    const failing = failingLedger();
    const runtime = createRuntime({
      ledger: failing.ledger,
      clock: failing.clock,
      tools,
      budgets: [{ scope: 'session', toolCalls: 9 }],
    });
    failing.failAt = has('tool.responded');
    const turn = runtime.turn({ sessionId: 's' });
    const told = await turn.call(envelope('a', 'pay'));
    failing.failAt = () => true;
    failing.canSpill = true;
    // The end goes to the spill with the next call, which itself cannot be made.
    await turn.call(envelope('b', 'pay', { n: 2 }));
    failing.failAt = undefined;
    await turn.call(envelope('next', 'look'));
    expect(await turn.call(envelope('a', 'pay'))).toEqual(told);
    const events = await runtime.events.list({ sessionId: 's', callId: 'a' });
    expect(events.filter(({ type }) => type === 'tool.late')).toMatchObject([
      { result: { type: 'returned', output: { did: 'a' } } },
    ]);
    // First nothing could store it, then the spill file did.
    const result = { success: true, data: { did: 'a' } };
    expect(await failuresOf(runtime, 'a')).toMatchObject([{ result }, { result }]);
    expect((await eventsOf(runtime, 'persistence.failed')).map(({ keptIn }) => keptIn)).toEqual([
      'nowhere',
      'spill',
    ]);
  });
});

describe('[late-is-kept] a late result that the ledger cannot store', () => {
  it.each([
    ['goes to the spill file', true],
    ['stays in memory if the spill file is full', false],
  ])('%s, and is stored with the next call', async (_title, canSpill) => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const body = deferred<string>();
    const runtime = createRuntime({
      ledger: failing.ledger,
      tools: [...tools, tool('slow', { timeoutMs: 1_000, run: () => body.promise })],
      clock,
    });
    const told = runtime.turn({ sessionId: 's' }).call(envelope('a', 'slow'));
    await quiet();
    clock.advance(1_000);
    expect(codeOf(await told)).toBe('tool.timeout');
    failing.failAt = () => true;
    failing.canSpill = canSpill;
    body.resolve('late');
    await quiet();
    failing.failAt = undefined;
    await runtime.turn({ sessionId: 's' }).call(envelope('next', 'pay'));
    await quiet();
    const events = await runtime.events.list({ sessionId: 's', callId: 'a' });
    expect(events.filter(({ type }) => type === 'tool.late')).toMatchObject([
      { result: { type: 'returned', output: 'late' } },
    ]);
    expect(await failuresOf(runtime, 'a')).toMatchObject([{ boundary: 'settle' }]);
  });
});
