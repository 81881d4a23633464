/** A process that leaves this many calls open, in every state, and waits to be killed. */
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { budgets, makeHook, makeTools, states, toolOf } from './tools.ts';
import { findOpenCalls } from '../../packages/quittance/src/ledger/reads.ts';

const [path = '', first = '0', count = '0'] = process.argv.slice(2);
const ledger = await openLedger(path, { synchronous: 'normal' });
const never = new Promise<never>(() => undefined);
let left = 0;
const asked = new Set<string>();
const runtime = createRuntime({
  ledger,
  budgets,
  tools: makeTools(() => {
    left++;
    return never;
  }),
  onPreToolUse: makeHook((toolName, callId) => {
    if (toolName === toolOf.held || toolName === toolOf['handed off']) {
      left++;
      return undefined;
    }
    // Approved and about to run: the checks run again, and have not finished when the process ends.
    const hangs = toolName === toolOf.requested || asked.has(callId);
    asked.add(callId);
    if (!hangs) return undefined;
    left++;
    return never;
  }),
  onConfirm: ({ toolName }) => (toolName === toolOf.approved ? { decision: 'approve', by: 'ada' } : never),
});

const total = Number(count);
const submit = (number: number): Promise<unknown> => {
  const state = states[number % states.length] ?? 'requested';
  return runtime.turn({ sessionId: `session-${number % 2_000}` }).submit({
    id: `call_${number}`,
    name: toolOf[state],
    arguments: { order: `order ${number}`, cents: number },
  }).accepted;
};
for (let made = 0; made < total; made += 256)
  await Promise.all(
    Array.from({ length: Math.min(256, total - made) }, (_, each) => submit(Number(first) + made + each)),
  );
while (left < total) await new Promise((resolve) => setTimeout(resolve, 20));
// The last intent is on disk before its tool runs; holds and hand-offs are, once the ledger answers.
await findOpenCalls(ledger);
process.send?.('left');
setInterval(() => undefined, 60_000);
