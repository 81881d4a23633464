/** `node main.ts`: answers a ticket with the scripted model. Its large refund waits for the console. */
import { mkdirSync } from 'node:fs';
import { openLedger } from 'quittance/ledger';
import { answerTicket } from './agent.ts';
import { governSupport } from './quittance.ts';
import { scriptedModel } from './scripted-model.ts';

mkdirSync(`${import.meta.dirname}/.quittance`, { recursive: true });
const ledger = await openLedger(
  process.env['QUITTANCE_LEDGER'] ?? `${import.meta.dirname}/.quittance/ledger.db`,
);
const support = await governSupport(ledger);
support.runtime.events.on({ name: 'held', on: 'tool.held' }, ({ callId }) =>
  console.log(`${callId} awaits approval: npx quittance serve --runtime quittance.ts`),
);
const model = scriptedModel([
  [{ name: 'look_up_order', input: { order: 'B-2' } }],
  [{ name: 'refund', input: { order: 'B-2', cents: 18_900, why: 'The parcel never arrived.' } }],
  [{ name: 'send_mail', input: { to: 'bob@example.com', text: 'We refunded your order.' } }],
  'The order is refunded, and the customer knows.',
]);
console.log(
  await answerTicket(support, { id: `ticket-${Date.now()}`, text: 'Order B-2 never arrived.' }, model),
);
await support.runtime.close();
await ledger.close();
