// Later a person asks what happened, who allowed it and why. The answer comes from events, never from a log.
import assert from 'node:assert/strict';
import { createRuntime, defineTool } from 'quittance';
import { checkAuditOrder } from 'quittance/events';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  displayName: 'Refund a customer',
  mode: 'destructive',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ cents }, context) => {
    context.log('asked the bank', { cents });
    context.reached('bank.example/refunds');
    return { refunded: cents };
  },
});

const runtime = createRuntime({ tools: [refund], onConfirm: () => ({ decision: 'approve', by: 'Ada' }) });
const turn = runtime.turn({
  sessionId: 'ticket-42',
  principal: { userId: 'ben', role: 'support' },
  provenance: { provider: 'acme', model: 'acme-1' },
});
await turn.call({ id: 'r1', name: 'refund', arguments: { order: 'A7', cents: '500' } });

// Records: the facts of a call, for people who must explain it.
const records = await runtime.calls.audit({ sessionId: 'ticket-42', callId: 'r1' });
const kinds = records.map(({ outcome }) => outcome.kind);
assert.deepEqual(kinds, ['requires_confirmation', 'completed']);
assert(checkAuditOrder(kinds, { settled: true }).ok);

const [asked, done] = records;
assert(asked !== undefined && done !== undefined);
assert.deepEqual(asked.principal, { userId: 'ben', role: 'support' }); // the principal
assert.deepEqual(asked.provenance, { provider: 'acme', model: 'acme-1' }); // the model
assert.deepEqual(asked.requestedInput, { order: 'A7', cents: '500' }); // the requested input
assert.deepEqual(asked.effectiveInput, { order: 'A7', cents: 500 }); // the tool's input
assert.partialDeepStrictEqual(done.decidedBy, {
  type: 'person',
  name: 'Ada',
  identity: { kind: 'self_asserted' }, // how she was identified: the host gave her name, and nothing verified it
}); // the approver
assert.equal(done.toolSuccess, true);

// A call: its current state, with the exact text for the model.
const [call] = await runtime.calls.list({ sessionId: 'ticket-42' });
assert.equal(call?.status, 'settled');
assert.equal(call.settled?.content, '{"refunded":500}');

// Events: everything, in order. Records and calls are derived from them.
for (const event of await runtime.events.list({ sessionId: 'ticket-42' })) console.log(event.type);
