/** Makes calls for a while, with or without signals, and reports how fast they were. */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import { sampleLoopDelay } from '../loop-delay.ts';
import { startTelemetry } from './start-telemetry.ts';
import type { LaneErrand, LaneReport } from './lane.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as LaneErrand; // written by the parent process
const send = defineTool({ name: 'send_it', mode: 'external', run: ({ n }: { n: number }) => ({ sent: n }) });
const pay = defineTool({ name: 'pay', mode: 'destructive', run: ({ n }: { n: number }) => ({ paid: n }) });
const ledger = await openLedger(errand.ledger);
const tracing =
  errand.signals.includes('telemetry') || errand.signals.includes('sampled')
    ? startTelemetry(errand.receiver, errand.signals.includes('sampled') ? 0.01 : 1)
    : undefined;
const runtime = createRuntime({
  tools: [send, pay],
  ledger,
  ...(tracing !== undefined && { telemetry: tracing.telemetry }),
  onConfirm: () => ({ decision: 'approve', by: 'ada' }),
});
const notifications = errand.signals.includes('webhooks')
  ? startNotifications({
      runtime,
      settings: readNotifications(
        `apiVersion: quittance/v1
kind: Notifications
targets:
  audit: { type: webhook, url: '${errand.receiver}', secret: ${Buffer.alloc(32, 1).toString('base64')}, allowPrivate: true }
rules:
  - { on: [held, decided], tell: [audit] }`,
        'notifications.yaml',
        () => undefined,
      ),
    })
  : undefined;

let made = 0;
let held = 0;
const latencies: number[] = [];
const loopDelays: number[] = [];

async function makeCalls(until: number): Promise<void> {
  const turn = runtime.turn({ sessionId: `s${made}` });
  while (performance.now() < until) {
    const n = made++;
    const isHeld = n % errand.heldEvery === 0;
    const startedAt = performance.now();
    await turn.call({ id: `c${n}`, name: isHeld ? 'pay' : 'send_it', arguments: { n } });
    if (isHeld) held++;
    else latencies.push(performance.now() - startedAt);
  }
}

const run = (ms: number): Promise<unknown> =>
  Promise.all(Array.from({ length: errand.inFlight }, () => makeCalls(performance.now() + ms)));

await run(1_000); // warm
const heldBefore = held;
[made, held] = [1_000_000, 0];
latencies.length = 0;
const stop = sampleLoopDelay(loopDelays);
const startedAt = performance.now();
const cpu = process.cpuUsage();
await run(errand.seconds * 1_000);
const { user, system } = process.cpuUsage(cpu);
const elapsedMs = performance.now() - startedAt;
stop();
const endedAt = performance.now();
await notifications?.caughtUp();
await tracing?.flush();
const report: LaneReport = {
  calls: made - 1_000_000,
  held,
  heldBefore,
  elapsedMs,
  latencies,
  loopDelays,
  cpuMs: (user + system) / 1_000,
  drainMs: performance.now() - endedAt,
};
process.send?.(report);
await notifications?.close();
await runtime.close();
await ledger.close();
process.disconnect();
