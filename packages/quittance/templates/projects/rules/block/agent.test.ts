/** `npm test`. The scripted model asks for two refunds. The rule blocks the large one. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryLedger } from 'quittance/ledger';
import { runAgent } from './agent.ts';
import { governProject, refunds } from './quittance.ts';

test('a large refund never runs, and the record names the rule', async () => {
  const governed = await governProject(createMemoryLedger());
  const sessionId = crypto.randomUUID();
  await runAgent(governed, sessionId);
  assert.deepEqual([...refunds], [['A-1', 900]]);
  const records = await governed.runtime.calls.audit({ sessionId });
  const [blocked] = records.filter(({ outcome }) => outcome.kind === 'blocked');
  assert.equal(blocked?.decidedBy?.name, 'large-refunds');
  await governed.runtime.close();
});
