// Some calls need a person. The call is held, `onConfirm` asks, and the answer is kept with the name of who gave it.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { ConfirmationAnswer } from 'quittance';
import { z } from 'zod';

const deleted: string[] = [];
const deleteUser = defineTool({
  name: 'delete_user', // such a name says `destructive`, and destructive tools ask
  input: z.object({ userId: z.string() }),
  run: ({ userId }) => ({ deleted: deleted.push(userId) }),
});

const afterLunch = Promise.withResolvers<ConfirmationAnswer>();
const runtime = createRuntime({
  tools: [deleteUser],
  // Your chat message, web page or terminal prompt goes here. Ada thinks about u7 and knows about u8.
  onConfirm: ({ arguments: { userId } }) =>
    userId === 'u8' ? { decision: 'deny', by: 'Ada', reason: 'u8 is me' } : afterLunch.promise,
});
const remove = (id: string, userId: string) => ({ id, name: 'delete_user', arguments: { userId } });

// Nobody answers before the turn is over: that is no outcome, and the question stays.
const turn = runtime.turn({ sessionId: 'admin', timeoutMs: 50 });
await assert.rejects(turn.call(remove('d1', 'u7')), (error) => {
  assert(isQuittanceError(error, 'call.pending'));
  console.log(error.message);
  return true;
});
assert.deepEqual(deleted, []);

// Another turn, the same id: the same call, rejoined. Ada comes back and agrees.
const later = runtime.turn({ sessionId: 'admin' });
const rejoined = later.call(remove('d1', 'u7'));
afterLunch.resolve({ decision: 'approve', by: 'Ada' });
assert.equal((await rejoined).type, 'ToolExecutionResult');
assert.deepEqual(deleted, ['u7']);

const denied = await later.call(remove('d2', 'u8'));
assert(denied.type === 'ToolDenied');
assert.equal(denied.details, 'Ada said no: u8 is me');
assert.deepEqual(deleted, ['u7']);

for (const { callId, outcome, decidedBy } of await runtime.audit({ sessionId: 'admin' }))
  console.log(callId, outcome.kind, decidedBy?.name ?? '');
