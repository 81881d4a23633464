import type { PendingCall, Runtime, ToolOutcome, Turn } from 'quittance';
import type { ConfirmationRequest, ToolUse } from 'quittance/runtime';
import { createRuntime, defineTool, jsonSchema, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { z } from 'zod';
import type { Equal, Expect } from '../tool/type-test.test-d.ts';

const refund = defineTool({
  name: 'refund',
  input: z.object({ orderId: z.string(), cents: z.number().default(0) }),
  output: z.object({ id: z.string(), at: z.date(), note: z.string().optional() }),
  run: ({ orderId }) => ({ id: orderId, at: new Date() }),
});
const lookup = defineTool({
  name: 'lookup',
  input: jsonSchema<{ id: number }>({ type: 'object' }),
  run: ({ id }) => new Map([[id, 'x']]).size,
});
const anything = defineTool({
  name: 'anything',
  run: () => ({ when: new Date(), list: [1n as unknown as bigint] }),
});

const runtime = createRuntime({ tools: [refund, lookup, anything] });
const turn = runtime.turn({ sessionId: 's' });

/** Never called: only the compiler reads it. */
export async function typed(): Promise<void> {
  // Outputs are inferred as JSON: a Date arrives as text.
  const refunded = await turn.run.refund({ orderId: 'o1' });
  const looked = await turn.run.lookup({ id: 1 });
  const seen: [
    Expect<Equal<typeof refunded, { id: string; at: string; note?: string }>>,
    Expect<Equal<typeof looked, number>>,
    Expect<Equal<Awaited<ReturnType<typeof turn.call>>, ToolOutcome>>,
  ] = [true, true, true];
  void seen;

  // Fields with a default may be left out; options are the second argument.
  await turn.run.refund({ orderId: 'o1', cents: 5 }, { callId: 'c', attrs: { a: 1 } });

  // @ts-expect-error the name of no tool
  await turn.run.refnd({ orderId: 'o1' });
  // @ts-expect-error a missing field
  await turn.run.refund({});
  // @ts-expect-error a field of the wrong type
  await turn.run.refund({ orderId: 7 });
  // @ts-expect-error an undeclared field
  await turn.run.refund({ orderId: 'o1', amount: 5 });
  // @ts-expect-error no input at all
  await turn.run.refund();
  // @ts-expect-error the input of another tool
  await turn.run.lookup({ orderId: 'o1' });
  // @ts-expect-error a misspelt option of a call
  await turn.run.refund({ orderId: 'o1' }, { callID: 'c' });

  // @ts-expect-error a call without an id
  await turn.call({ name: 'refund', arguments: {} });
  // @ts-expect-error a call of another shape
  await turn.call({ id: 'c', name: 'refund', args: {} });
  // @ts-expect-error a misspelt option of a call
  await turn.call({ id: 'c', name: 'refund', arguments: {} }, { attr: {} });
  const made = await turn.call({ id: 'c', name: 'refund', arguments: {} });
  type _Made = Expect<Equal<typeof made, ToolOutcome>>;
  const returned = await turn.call({ id: 'c', name: 'refund', arguments: {} }, { ifHeld: 'return' });
  type _Returned = Expect<Equal<typeof returned, ToolOutcome | PendingCall>>;
  // @ts-expect-error a misspelt option of a batch
  await turn.callAll([], { concurency: 2 });
  // @ts-expect-error a misspelt option of the end
  await turn.end({ withdrawn: true });
}

/** Never called: only the compiler reads it. */
export function configured(): void {
  createRuntime({
    tools: [refund],
    ledger: createMemoryLedger(),
    budgets: [
      { scope: 'session', toolCalls: 5 },
      { scope: 'user:42', per: 'day', costMicros: 1 },
    ],
    treatments: { destructive: 'run' },
    onPreToolUse: (use) => {
      const kind: Expect<Equal<typeof use, ToolUse>> = true;
      return kind ? ToolDecision.allow : ToolDecision.block('no');
    },
    onConfirm: (request) => {
      const kind: Expect<Equal<typeof request, ConfirmationRequest>> = true;
      return { decision: kind ? 'approve' : 'deny', by: 'ada' };
    },
  });

  // @ts-expect-error no tools
  createRuntime({});
  // @ts-expect-error something that is not a tool
  createRuntime({ tools: [{ name: 'x', run: () => 1 }] });
  // @ts-expect-error a misspelt option
  createRuntime({ tools: [refund], onPreTooluse: () => ToolDecision.allow });
  // @ts-expect-error a budget without a scope
  createRuntime({ tools: [refund], budgets: [{ toolCalls: 5 }] });
  // @ts-expect-error a misspelt budget
  createRuntime({ tools: [refund], budgets: [{ scope: 'turn', toolcalls: 5 }] });
  // @ts-expect-error an unknown treatment
  createRuntime({ tools: [refund], treatments: { destructive: 'maybe' } });
  // @ts-expect-error an unknown mode
  createRuntime({ tools: [refund], treatments: { deadly: 'ask' } });
  // @ts-expect-error a hook that answers with a word
  createRuntime({ tools: [refund], onPreToolUse: () => 'allow' });
  // @ts-expect-error an approval without a name
  createRuntime({ tools: [refund], onConfirm: () => ({ decision: 'approve' }) });

  // @ts-expect-error a turn without a session
  runtime.turn({});
  // @ts-expect-error a misspelt option of a turn
  runtime.turn({ sessionId: 's', timeout: 5 });
}

/** Code that accepts any runtime, or any turn, accepts this one. */
export const anyRuntime: Runtime = runtime;
export const anyTurn: Turn = turn;
