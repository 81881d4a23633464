import assert from 'node:assert/strict';
import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';

const refunded: number[] = [];
const refund = defineTool({
  name: 'refund',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
});

const runtime = createRuntime({ tools: [refund] });
const turn = runtime.turn({ sessionId: 'ticket-42' });

// A model may send arguments as text, put a number in quotes, and send the same call twice.
const call = { id: 'call_1', name: 'refund', arguments: '{"order":"A7","cents":"500"}' };
const [first, second] = [await turn.call(call), await turn.call(call)];

assert.equal(first.type, 'ToolExecutionResult');
assert.deepEqual(second, first); // one call, one outcome
assert.deepEqual(refunded, [500]); // a number, and only once
for (const { outcome } of await runtime.calls.audit({ sessionId: 'ticket-42' })) console.log(outcome.kind);
// completed
// cached
