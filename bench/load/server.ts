/** The server under load, in a process of its own: says how it fares whenever it is asked. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createRuntime, defineTool } from 'quittance';
import { createHttpServer } from 'quittance/http';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { answerOrders } from '../answer-orders.ts';

export type ServerReport = {
  readonly rssMb: number;
  readonly heapMb: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly cpuSeconds: number;
  /** CPU time of the event loop's thread alone. */
  readonly loopCpuSeconds: number;
};

const [path = '', limits = ''] = process.argv.slice(2);
const ledger = await openLedger(path);
const look = defineTool({
  name: 'look_up',
  mode: 'read',
  loopLimit: 1e9,
  input: z.object({ n: z.number() }),
  run: ({ n }) => ({ n, text: 'x'.repeat(200) }),
});
const runtime = createRuntime({ tools: [look], ledger });
const server = await createHttpServer({
  ledger,
  runtime,
  tools: [look],
  ledgerUrl: path,
  port: 0,
  localName: 'load',
  // With the limits people get, where it is those that are tried.
  ...(limits === 'default' ? {} : { limits: { rate: { perSecond: 10_000, burst: 10_000 } } }),
  onError: (error) => console.error(error),
});
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

answerOrders({ server, runtime, ledger }, (): ServerReport => {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const loop = process.threadCpuUsage();
  const said: ServerReport = {
    rssMb: rss / 1_048_576,
    heapMb: heapUsed / 1_048_576,
    loopP99Ms: delay.percentile(99) / 1e6,
    loopMaxMs: delay.max / 1e6,
    cpuSeconds: (user + system) / 1e6,
    loopCpuSeconds: (loop.user + loop.system) / 1e6,
  };
  delay.reset();
  return said;
});
