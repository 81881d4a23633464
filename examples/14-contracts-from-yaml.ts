// Rules in a file next to the program: one blocks, one asks for approval, one redacts, one counts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { z } from 'zod';

const refunded: number[] = [];
const refund = defineTool({
  name: 'refund',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
});
const findOrder = defineTool({
  name: 'find_order',
  input: z.object({ order: z.string() }),
  mode: 'read',
  run: ({ order }) => ({ order, paidFrom: 'DE02 1203 0000 0000 2020 51', lines: ['2 loaves'] }),
});

const contracts = await contractsFromYaml(join(import.meta.dirname, '14-contracts.yaml'));
const questions: string[] = [];
const runtime = createRuntime({
  tools: [refund, findOrder],
  contracts,
  onConfirm: ({ description }) => {
    questions.push(description);
    return { decision: 'approve', by: 'Ada' };
  },
});
const turn = runtime.turn({ sessionId: 'till-3' });
const pay = (id: string, cents: number) => ({ id, name: 'refund', arguments: { order: 'A7', cents } });

// Both refund rules fire. A block beats an approval, so no person is asked.
const large = await turn.call(pay('r1', 90_000));
assert(large.type === 'ToolDenied');
assert.equal(large.reason, 'contract');
assert.equal(large.details, 'Agents may not refund 90000 cents. Ask the office.');
assert.deepEqual(questions, []);

// This amount needs approval. Ada approves, and every check runs again before the tool.
assert.equal((await turn.call(pay('r2', 3_000))).type, 'ToolExecutionResult');
assert.deepEqual(questions, ['Refund 3000 cents for order A7?']);

// A call without objections is allowed.
assert.equal((await turn.call(pay('r3', 500))).type, 'ToolExecutionResult');

// The tool ran twice; the rule that counts refunds blocks a third.
const third = await turn.call(pay('r4', 600));
assert(third.type === 'ToolDenied');
assert.equal(third.details, 'Two refunds are enough for one conversation.');
assert.deepEqual(refunded, [3_000, 500]);

// A rule redacts its match in an output. The rest keeps its shape.
const order = await turn.call({ id: 'o1', name: 'find_order', arguments: { order: 'A7' } });
assert(order.type === 'ToolExecutionResult');
assert.deepEqual(order.output, { order: 'A7', paidFrom: '[REDACTED]', lines: ['2 loaves'] });

// The record names the decider and the version of the rules.
for (const { callId, outcome, decidedBy, policyVersion } of await runtime.calls.audit({
  sessionId: 'till-3',
})) {
  assert.equal(policyVersion, contracts.version);
  console.log(callId, outcome.kind, decidedBy?.name ?? '');
}
