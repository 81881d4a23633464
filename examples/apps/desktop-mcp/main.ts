/** `node main.ts`: does what a desktop client does. Approve the cancelation in the console: `npm run console`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { connect } from './connect.ts';

const own = join(import.meta.dirname, '.quittance');
mkdirSync(own, { recursive: true });
const desktop = await connect(process.env['QUITTANCE_LEDGER'] ?? join(own, 'ledger.db'));
let isToldToWait = false;
try {
  console.log('get_order A-7:', await desktop.call('get_order', 'A-7'));
  console.log('cancel_order OLD-1:', await desktop.call('cancel_order', 'OLD-1'));
  let answer = await desktop.call('cancel_order', 'A-7');
  // This client cannot wait for a person inside a call, so it gets the id of the call and asks again.
  for (let callId = openCallOf(answer); callId !== undefined; callId = openCallOf(answer)) {
    if (!isToldToWait) console.log('cancel_order A-7 waits for a person: npm run console');
    isToldToWait = true;
    await setTimeout(1_000);
    answer = await desktop.check(callId);
  }
  console.log('cancel_order A-7:', answer);
} finally {
  await desktop.close();
}

/** The id of a call that has not ended yet. */
function openCallOf(answer: string): string | undefined {
  if (!answer.startsWith('{')) return undefined;
  const { status, call_id: callId } = JSON.parse(answer) as { status?: string; call_id?: string };
  return status === 'pending' || status === 'running' ? callId : undefined;
}
