/** `node main.ts`: does what a desktop client does. Approve the cancelation in the console: `npm run console`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from './connect.ts';

const own = join(import.meta.dirname, '.quittance');
mkdirSync(own, { recursive: true });
const desktop = await connect(process.env['QUITTANCE_LEDGER'] ?? join(own, 'ledger.db'));
try {
  console.log('get_order A-7:', await desktop.call('get_order', 'A-7'));
  console.log('cancel_order OLD-1:', await desktop.call('cancel_order', 'OLD-1'));
  console.log('cancel_order A-7 waits for a person: npm run console');
  console.log('cancel_order A-7:', await desktop.call('cancel_order', 'A-7'));
} finally {
  await desktop.close();
}
