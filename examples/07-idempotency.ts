// Two ways to pay twice, and what stops them: a key made from the arguments, and the twin guard.
import assert from 'node:assert/strict';
import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';

const receipts = new Map<string, string>(); // received receipts, by their key
const sendReceipt = defineTool({
  name: 'send_receipt',
  input: z.object({ order: z.string(), to: z.string() }),
  idempotencyKey: ({ order }) => `receipt/${order}`,
  run: ({ to }, { idempotencyKey }) => {
    receipts.set(idempotencyKey, to); // pass it to a service that supports one
    return { sent: true };
  },
});
const wire = defineTool({
  name: 'wire_money', // no key, not idempotent: it may not run again without approval
  input: z.object({ cents: z.number() }),
  run: () => {
    throw new Error('socket hang up'); // after the bank got it, or before?
  },
});

const questions: string[] = [];
const runtime = createRuntime({
  tools: [sendReceipt, wire],
  onConfirm: ({ description }) => {
    questions.push(description);
    return { decision: 'deny', by: 'Ada', reason: 'I will call the bank' };
  },
});
const turn = runtime.turn({ sessionId: 'shop' });

const receipt = (id: string, to: string) => ({ id, name: 'send_receipt', arguments: { order: 'A7', to } });
const first = await turn.call(receipt('r1', 'ben@example.org'));
const again = await turn.call(receipt('r2', 'ben@example.org')); // a new id, the same key: one effect
assert.deepEqual({ ...again, callId: 'r1' }, first);
const other = await turn.call(receipt('r3', 'eve@example.org')); // the same key for something else
assert(other.type === 'ToolDenied');
assert.equal(other.code, 'call.conflict');
assert.deepEqual([...receipts], [['receipt/A7', 'ben@example.org']]);

const failed = await turn.call({ id: 'w1', name: 'wire_money', arguments: { cents: 900 } });
assert.equal(failed.type, 'ToolFailure');
const twin = await turn.call({ id: 'w2', name: 'wire_money', arguments: { cents: 900 } });
assert(twin.type === 'ToolDenied'); // the model saw an error and retried; a person was asked first
assert.equal(twin.reason, 'write_denied');
console.log(questions);
assert.deepEqual(questions, ['Call w1 did the same, and it is unknown whether it took effect.']);
