import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';

const pay = { id: 'c1', name: 'pay', arguments: { cents: '500' } };

function stage(): {
  readonly runtime: ReturnType<typeof createRuntime>;
  readonly paid: unknown[];
} {
  const paid: unknown[] = [];
  const runtime = createRuntime({
    ledger: createMemoryLedger(),
    tools: [
      defineTool({
        name: 'pay',
        mode: 'external',
        input: { type: 'object', properties: { cents: { type: 'number' } }, required: ['cents'] },
        run: (args) => paid.push(args),
      }),
    ],
    onPreToolUse: ({ arguments: { cents } }) =>
      Number(cents) > 1_000
        ? ToolDecision.block('too much')
        : Number(cents) > 100
          ? ToolDecision.requiresConfirmation('Pay?')
          : ToolDecision.allow,
  });
  return { runtime, paid };
}

test('`ask` holds a call that needs an approval, and the call runs once it is approved', async () => {
  const { runtime, paid } = stage();
  const turn = runtime.turn({ sessionId: 's' });
  const question = await turn.ask(pay);
  expect(question).toMatchObject({ type: 'pending', callId: 'c1' });
  expect(await turn.ask(pay)).toEqual(question);
  expect(await turn.call(pay, { ifHeld: 'return' })).toEqual(question);
  expect(paid).toEqual([]);
  const { rows } = await runtime.confirmations.list({ status: 'pending' });
  expect(rows).toHaveLength(1);
  await runtime.confirmations.decide(question?.confirmationId ?? '', {
    decision: 'approve',
    by: 'ada',
    inputDigest: rows[0]?.inputDigest ?? '',
  });
  expect(await turn.call(pay)).toMatchObject({ type: 'ToolExecutionResult', wasCoerced: true });
  expect(await turn.ask(pay)).toBeUndefined();
  expect(paid).toEqual([{ cents: 500 }]);
});

test.each([
  ['needs no approval', { ...pay, arguments: { cents: 5 } }],
  ['is blocked', { ...pay, arguments: { cents: 5_000 } }],
  ['does not fit its schema', { ...pay, arguments: { cents: 'x' } }],
  ['names no tool', { ...pay, name: 'pya' }],
])('`ask` leaves no trace of a call that %s', async (_, call) => {
  const { runtime, paid } = stage();
  expect(await runtime.turn({ sessionId: 's' }).ask(call)).toBeUndefined();
  expect([paid, await runtime.events.list({ sessionId: 's' })]).toEqual([[], []]);
});

test('a call that needs no approval runs at once and is not pending', async () => {
  const { runtime } = stage();
  const outcome = await runtime
    .turn({ sessionId: 's' })
    .call({ ...pay, arguments: { cents: 5 } }, { ifHeld: 'return' });
  expect(outcome.type).toBe('ToolExecutionResult');
});

test('a call that was held here is no longer pending after a decision', async () => {
  const { runtime } = stage();
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call(pay, { ifHeld: 'return' });
  const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
  await runtime.confirmations.decide(question?.confirmationId ?? '', {
    decision: 'deny',
    by: 'ada',
    reason: 'No.',
  });
  expect(await turn.call(pay, { ifHeld: 'return' })).toMatchObject({
    type: 'ToolDenied',
    reason: 'write_denied',
  });
});
