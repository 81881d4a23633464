/**
 * A process that makes 200 calls a second in a ledger until it is killed. The calls are plain effects, large outputs, inputs
 * with a secret, and calls that are held. Every 100 calls it prints how many have ended, and how many of them had a large output.
 */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const anything = { type: 'object' } as const;
const tools = [
  defineTool({ name: 'pay', mode: 'external', input: anything, run: () => ({ paid: true }) }),
  defineTool({ name: 'report', mode: 'external', input: anything, run: () => 'x'.repeat(20_000) }),
  defineTool({ name: 'delete_order', mode: 'destructive', input: anything, run: () => ({ deleted: true }) }),
] as const;

const [url = ''] = process.argv.slice(2);
const ledger = await openLedger(url);
const runtime = createRuntime({ tools, ledger });
const turns = Array.from({ length: 10 }, (_, n) => runtime.turn({ sessionId: `session ${n}` }));
let made = 0;
let ended = 0;
let reports = 0;
const begunAt = performance.now();

function callOnce(): void {
  const n = made++;
  const turn = turns[n % turns.length];
  if (turn === undefined) return;
  const name = n % 100 === 7 ? 'delete_order' : n % 50 === 3 ? 'report' : 'pay';
  const call = { id: `call ${n}`, name, arguments: { n, ...(n % 20 === 7 && { password: `secret ${n}` }) } };
  if (name === 'delete_order') void turn.submit(call).accepted.catch(() => undefined);
  else
    void turn.call(call).then(() => {
      ended++;
      if (name === 'report') reports++;
      if (ended % 100 === 0)
        console.log(JSON.stringify({ ended, reports, seconds: (performance.now() - begunAt) / 1_000 }));
    });
}

setInterval(() => {
  const due = ((performance.now() - begunAt) / 1_000) * 200;
  while (made < due) callOnce();
}, 5);
