// Some calls need approval. The call is held in the ledger, a person decides, and the decision is stored with their
// name.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { z } from 'zod';

const deleted: string[] = [];
const deleteUser = defineTool({
  name: 'delete_user', // this name implies `destructive`, and destructive tools need approval
  input: z.object({ userId: z.string() }),
  run: ({ userId }) => ({ deleted: deleted.push(userId) }),
});
const runtime = createRuntime({ tools: [deleteUser] });
const remove = (id: string, userId: string) => ({ id, name: 'delete_user', arguments: { userId } });

// No decision before the turn ends: the call has no outcome yet, and the confirmation stays open.
const turn = runtime.turn({ sessionId: 'admin', timeoutMs: 1_000 });
await assert.rejects(turn.call(remove('d1', 'u7')), (error) => {
  assert(isQuittanceError(error, 'call.pending'));
  console.log(error.message);
  return true;
});
assert.deepEqual(deleted, []);

// Your page, chat or terminal lists open confirmations and decides exactly what it showed.
const { rows } = await runtime.confirmations.list({ status: 'pending' });
assert.equal(rows.length, 1);
for (const { confirmationId, description, effectiveInput, inputDigest } of rows) {
  console.log(description, effectiveInput);
  await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest });
}

// Another turn, the same id: the same call, with its outcome.
const outcome = await runtime.turn({ sessionId: 'admin' }).call(remove('d1', 'u7'));
assert.equal(outcome.type, 'ToolExecutionResult');
assert.deepEqual(deleted, ['u7']);

// If a person is available, `onConfirm` answers at once.
const attended = createRuntime({
  tools: [deleteUser],
  onConfirm: () => ({ decision: 'deny', by: 'Ada', reason: 'u8 is me' }),
});
const denied = await attended.turn({ sessionId: 'admin' }).call(remove('d2', 'u8'));
assert(denied.type === 'ToolDenied');
assert.equal(denied.details, 'Denied by Ada: u8 is me');
assert.deepEqual(deleted, ['u7']);

for (const { callId, outcome: fact, decidedBy } of await runtime.calls.audit({ sessionId: 'admin' }))
  console.log(callId, fact.kind, decidedBy?.name ?? '');
