import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryLedger } from 'quittance/ledger';
import { answerTicket } from './agent.ts';
import { governSupport } from './quittance.ts';
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
