/** Recovers a ledger while calls of other sessions are made, and reports the cost. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { Recovered } from './recovered.ts';
import { budgets, makeHook, makeTools } from './tools.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

const [path = ''] = process.argv.slice(2);
let begun: (() => void) | undefined;
const ledger = await openLedger(path);
const runtime = createRuntime({
  ledger,
  budgets,
  tools: makeTools((args) => {
    if ((args as { order: string }).order === 'ping') begun?.();
    return { done: true };
  }),
  onPreToolUse: makeHook(() => undefined),
});

let isOver = false;
const waits: number[] = [];
/** Calls in sessions that no other process ever had. */
async function makeOtherCalls(): Promise<void> {
  for (let number = 0; !isOver; number++) {
    const startedMs = performance.now();
    begun = () => waits.push(performance.now() - startedMs);
    await runtime
      .turn({ sessionId: `live-${number % 8}` })
      .call({ id: `ping_${number}`, name: 'ping', arguments: { order: 'ping', cents: number } });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const entriesBefore = await lastPosition(ledger);
const delay = monitorEventLoopDelay({ resolution: 5 });
const cpuBefore = process.cpuUsage();
const mainBefore = process.threadCpuUsage();
const startedMs = performance.now();
delay.enable();
const others = makeOtherCalls();
const how: Record<string, number> = {};
let toldAtMs = 0;
const recovered = await runtime.recover({
  onProgress: (progress) => {
    const nowMs = performance.now();
    if (nowMs - toldAtMs < 100 && progress.done < progress.total) return;
    toldAtMs = nowMs;
    process.send?.({ type: 'progress', ...progress });
  },
});
const seconds = (performance.now() - startedMs) / 1_000;
isOver = true;
await others;
delay.disable();
const { user, system } = process.cpuUsage(cpuBefore);
const main = process.threadCpuUsage(mainBefore);
for (const call of recovered) how[call.how] = (how[call.how] ?? 0) + 1;
const told: Recovered = {
  type: 'recovered',
  calls: recovered.length,
  how,
  seconds,
  cpuSeconds: (user + system) / 1e6,
  mainCpuSeconds: (main.user + main.system) / 1e6,
  peakMb: process.resourceUsage().maxRSS / 1_024,
  otherCalls: waits.length,
  longestWaitMs: Math.max(...waits),
  longestDelayMs: delay.max / 1e6,
  entriesBefore,
  entriesAfter: await lastPosition(ledger),
};
process.send?.(told);
await runtime.close();
await ledger.close();
process.disconnect();
