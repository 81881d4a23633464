/** `npm test`. The scripted model asks for two refunds. The rule holds the large one until a person approves it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryLedger } from 'quittance/ledger';
import { runAgent } from './agent.ts';
import { governProject, refunds } from './quittance.ts';

test('a large refund waits for a person, and runs once after the approval', async () => {
  const governed = await governProject(createMemoryLedger());
  const { confirmations, calls, events } = governed.runtime;
  const sessionId = crypto.randomUUID();
  events.on({ name: 'approver', on: 'tool.held' }, async () => {
    const [question] = (await confirmations.list({ status: 'pending' })).rows;
    assert(question !== undefined);
    assert.equal(refunds.has('B-2'), false);
    const { confirmationId, inputDigest } = question;
    await confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest });
  });
  await runAgent(governed, sessionId);
  const expected = new Map([
    ['A-1', 900],
    ['B-2', 9_000],
  ]);
  assert.deepEqual(refunds, expected);
  const records = await calls.audit({ sessionId });
  const [completed] = records.filter(({ outcome, decidedBy }) => outcome.kind === 'completed' && decidedBy);
  assert.deepEqual([completed?.decidedBy?.type, completed?.decidedBy?.name], ['person', 'Ada']);
  await governed.runtime.close();
});
