// A person who would approve every time approves once: for one tool, some arguments, one session and one hour.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { z } from 'zod';

const refunded: number[] = [];
const refund = defineTool({
  name: 'refund',
  mode: 'destructive', // so every call needs approval
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ cents }) => ({ refunds: refunded.push(cents) }),
});
const runtime = createRuntime({ tools: [refund] });
const ask = (id: string, cents: number) =>
  runtime
    .turn({ sessionId: 'sale', timeoutMs: 1_000 })
    .call({ id, name: 'refund', arguments: { order: id, cents } });
const isHeld = (error: unknown): boolean => isQuittanceError(error, 'call.pending');

const grant = await runtime.grants.give({
  sessionId: 'sale',
  toolName: 'refund',
  where: { 'args.cents': { lte: 500 } },
  forMs: 3_600_000,
  by: 'Ada',
  reason: 'small refunds during the sale',
});

// Small refunds run under the grant; a large one needs approval.
assert.equal((await ask('o1', 450)).type, 'ToolExecutionResult');
await assert.rejects(ask('o2', 90_000), isHeld);
assert.deepEqual(refunded, [450]);
const [first] = await runtime.calls.list({ sessionId: 'sale', callId: 'o1' });
assert.equal(first?.grantId, grant.grantId);

// A revoked grant approves nothing, from the next intent on.
await runtime.grants.revoke({ sessionId: 'sale', grantId: grant.grantId, by: 'Bob' });
await assert.rejects(ask('o3', 100), isHeld);
assert.deepEqual(refunded, [450]);

for (const { toolName, by, used, status, revoked } of await runtime.grants.list({ sessionId: 'sale' }))
  console.log(`${toolName}, given by ${by}: used ${used} times, ${status} by ${revoked?.by}`);
