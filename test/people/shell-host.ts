/**
 * A host with a shell tool, as agents have. It holds one refund in the given ledger. Then it runs each line of its
 * standard input in a shell and prints the result. Run by tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const ledger = await openLedger(process.argv[2] ?? '');
const refund = defineTool({
  name: 'refund',
  mode: 'destructive',
  input: { type: 'object' },
  run: () => ({ refunded: true }),
});
const runtime = createRuntime({ tools: [refund], ledger });
const turn = runtime.turn({ sessionId: 'ticket-42', principal: { userId: 'bob' } });
const submitted = turn.submit({ id: 'call_refund', name: 'refund', arguments: { order: 'A7', cents: 500 } });
submitted.outcome().catch(() => undefined);
await submitted.accepted;
console.log(JSON.stringify({ ready: true, pid: process.pid }));

for await (const line of createInterface({ input: process.stdin })) {
  const child = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  console.log(JSON.stringify({ code, out, err }));
}
await runtime.close();
await ledger.close();
