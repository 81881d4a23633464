/** `npm test`. The scripted model asks for two refunds. Both run, and the record says what the rule would block. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryLedger } from 'quittance/ledger';
import { runAgent } from './agent.ts';
import { governProject, refunds } from './quittance.ts';

test('rules that only observe stop nothing, and are on record', async () => {
  const governed = await governProject(createMemoryLedger());
  const sessionId = crypto.randomUUID();
  await runAgent(governed, sessionId);
  const expected = new Map([
    ['A-1', 900],
    ['B-2', 9_000],
  ]);
  assert.deepEqual(refunds, expected);
  const events = await governed.runtime.events.list({ sessionId });
  assert(JSON.stringify(events).includes('large-refunds'));
  await governed.runtime.close();
});
