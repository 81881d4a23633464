import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { expect, test } from 'vitest';
import { verifyLedger } from './verify-ledger.ts';

const options = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
};

async function findProblems(ledger: OpenLedger): Promise<readonly string[]> {
  const found: string[] = [];
  await verifyLedger(ledger, undefined, options, async ({ message }) => void found.push(message));
  return found;
}

test.each([
  ['approved', { decision: 'approve' }],
  ['denied', { decision: 'deny', reason: 'No.' }],
  ['edited', { decision: 'edit', arguments: { path: 'other' } }],
  ['answered', { decision: 'respond', response: 'Leave it.' }],
] as const)('a ledger is intact after the bodies of a call that was %s were erased', async (_, decision) => {
  const ledger = createMemoryLedger();
  const remove = defineTool({ name: 'remove', mode: 'destructive', run: () => 'gone' });
  const runtime = createRuntime({ ledger, tools: [remove] });
  const turn = runtime.turn({ sessionId: 's' });
  const call = { id: 'c', name: 'remove', arguments: { path: 'a' } };
  expect(await turn.call(call, { ifHeld: 'return' })).toMatchObject({ type: 'pending' });
  const [question] = (await runtime.confirmations.list()).rows;
  const { confirmationId = '', inputDigest = '' } = question ?? {};
  await runtime.confirmations.decide(confirmationId, { ...decision, by: 'ada', inputDigest });
  await turn.call(call);
  expect(await ledger.erase({ sessionId: 's', by: 'ada', reason: 'Asked to.' })).toBeGreaterThan(0);
  expect(await findProblems(ledger)).toEqual([]);
  await runtime.close();
});
