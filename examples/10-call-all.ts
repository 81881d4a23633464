// Several calls of one answer: reads run in parallel, overlapping writes wait, results keep call order.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool } from 'quittance';
import type { ToolContext } from 'quittance';
import { z } from 'zod';

const input = z.object({ account: z.string() });
const resourceKeys = ({ account }: z.infer<typeof input>) => [account]; // the resources of a call

const steps: string[] = [];
const work = async ({ account }: z.infer<typeof input>, { callId }: ToolContext) => {
  steps.push(`${callId} begins`);
  await sleep(20);
  steps.push(`${callId} ends`);
  return { account };
};
const getBalance = defineTool({ name: 'get_balance', input, resourceKeys, run: work }); // a read, by its name
const addFee = defineTool({ name: 'add_fee', input, resourceKeys, run: work }); // a write

const turn = createRuntime({ tools: [getBalance, addFee] }).turn({ sessionId: 'bank' });
const outcomes = await turn.callAll([
  { id: 'read a', name: 'get_balance', arguments: { account: 'a' } },
  { id: 'read b', name: 'get_balance', arguments: { account: 'b' } },
  { id: 'write a', name: 'add_fee', arguments: { account: 'a' } },
  { id: 'read a again', name: 'get_balance', arguments: { account: 'a' } },
]);

assert.deepEqual(
  outcomes.map((outcome) => outcome.callId),
  ['read a', 'read b', 'write a', 'read a again'],
);
const at = (step: string): number => steps.indexOf(step);
assert(at('read b begins') < at('read a ends')); // in parallel
assert(at('read a ends') < at('write a begins')); // the write waits for the read before it
assert(at('write a ends') < at('read a again begins')); // and the read after it waits for the write
console.log(steps.join('\n'));
