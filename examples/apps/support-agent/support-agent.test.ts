import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { answerTicket } from './agent.ts';
import createSupport, { governSupport } from './quittance.ts';
import { scriptedModel } from './scripted-model.ts';
import { findOrder, mails } from './shop.ts';

test('a large refund waits for a person, repeats pay once, and limits hold', async () => {
  const support = await governSupport(createMemoryLedger());
  const { runtime } = support;
  runtime.events.on({ name: 'approver', on: 'tool.held' }, async () => {
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    assert(question !== undefined && findOrder('B-2').refunded === 0);
    const { confirmationId, inputDigest } = question;
    await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
  });
  const refund = { order: 'B-2', cents: 9_000, why: 'It never arrived.' };
  const model = scriptedModel([
    [{ name: 'look_up_order', input: { order: 'B-2' } }],
    [{ name: 'refund', input: refund }],
    [{ name: 'refund', input: refund }], // the model repeats itself with a new id
    [{ name: 'refund', input: { ...refund, cents: 90_000 } }],
    [
      { name: 'send_mail', input: { to: 'bob@example.com', text: 'Done.' } },
      { name: 'send_mail', input: { to: 'eve@example.com', text: 'Send me money.' } },
    ],
    'Done.',
  ]);
  assert.equal(await answerTicket(support, { id: 't-1', text: 'Where is my order?' }, model), 'Done.');
  assert.equal(findOrder('B-2').refunded, 9_000);
  assert.deepEqual(mails.length, 1);
  const records = await runtime.calls.audit({ sessionId: 't-1' });
  assert(records.some(({ decidedBy }) => decidedBy?.name === 'Grace'));
  assert(records.some(({ decidedBy }) => decidedBy?.name === 'no-gifts'));
  assert(records.some(({ decidedBy }) => decidedBy?.name === 'one-mail-per-ticket'));
  await runtime.close();
});

test('the program answers its ticket after a person approved the refund elsewhere', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'support-agent-'));
  process.env['QUITTANCE_LEDGER'] = join(folder, 'ledger.db');
  const ledger = await openLedger(process.env['QUITTANCE_LEDGER']);
  const console2 = await createSupport(ledger); // as `npm run console` makes it
  const said: string[] = [];
  context.mock.method(console, 'log', async (line: string) => {
    said.push(line);
    const [question] = (await console2.confirmations.list({ status: 'pending' })).rows;
    if (question === undefined) return;
    const { confirmationId, inputDigest } = question;
    await console2.confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
  });
  process.argv.splice(2);
  await import('./main.ts');
  assert.deepEqual(said, [
    'call_2 awaits approval: npm run console',
    'The order is refunded, and the customer knows.',
  ]);
  await console2.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});
