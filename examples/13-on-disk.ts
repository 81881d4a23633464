/**
 * A ledger on disk: outcomes are stored before they are reported, and the same id gives the same answer after a
 * restart.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const folder = mkdtempSync(join(tmpdir(), 'quittance-example-'));
let sent = 0;

const sendMail = defineTool({
  name: 'send_mail',
  mode: 'external',
  run: () => ({ mail: ++sent }),
});

/** Acts as a separate process for the ledger: it opens the file, makes the call and closes it. */
async function ask(): Promise<string> {
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const runtime = createRuntime({ tools: [sendMail], ledger });
  const turn = runtime.turn({ sessionId: 'ticket-7' });
  const outcome = await turn.call({ id: 'call-1', name: 'send_mail', arguments: {} });
  await runtime.close();
  await ledger.close();
  return JSON.stringify(outcome);
}

const first = await ask();
const second = await ask();
assert.equal(second, first);
assert.equal(sent, 1);
console.log('Asked twice, sent once:', first);

rmSync(folder, { recursive: true });
