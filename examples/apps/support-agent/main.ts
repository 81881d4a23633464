/**
 * `node main.ts [TICKET]`: answers a ticket. With MODEL it uses that model through the AI Gateway; without, a scripted
 * model answers a sample ticket. A large refund waits for the console.
 */
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
  console.log(`${callId} awaits approval: npm run console`),
);
const model =
  process.env['MODEL'] ??
  scriptedModel([
    [{ name: 'look_up_order', input: { order: 'B-2' } }],
    [{ name: 'refund', input: { order: 'B-2', cents: 18_900, why: 'The parcel never arrived.' } }],
    [{ name: 'send_mail', input: { to: 'bob@example.com', text: 'We refunded your order.' } }],
    'The order is refunded, and the customer knows.',
  ]);
const [text = 'Order B-2 never arrived.'] = process.argv.slice(2);
console.log(await answerTicket(support, { id: `ticket-${Date.now()}`, text }, model));
await support.runtime.close();
await ledger.close();
