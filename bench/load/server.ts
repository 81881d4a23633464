/** The server under load, in a separate process: reports its state on request. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createRuntime, defineTool } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { contractsFromYamlString } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { answerOrders } from '../answer-orders.ts';

export type ServerReport = {
  readonly rssMb: number;
  /** The maximum since the last report. */
  readonly peakRssMb: number;
  readonly heapMb: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly cpuSeconds: number;
  /** CPU time of the event loop's thread alone. */
  readonly loopCpuSeconds: number;
};

const sampleMs = 10;
const [path = '', limits = ''] = process.argv.slice(2);
const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: notes }
defaults: { mode: enforce }
rules:
  - id: no-keys
    type: pre
    tool: get_note
    when: { args.text: { matches: '(key|secret)-[0-9a-f]{32}' } }
    then: { action: block, message: 'No keys.' }
`;
const ledger = await openLedger(path);
const look = defineTool({
  name: 'look_up',
  mode: 'read',
  loopLimit: 1e9,
  input: z.object({ n: z.number() }),
  run: ({ n }) => ({ n, text: 'x'.repeat(200) }),
});
const note = defineTool({ name: 'get_note', mode: 'read', loopLimit: 1e9, run: () => 1 });
const contracts = contractsFromYamlString(rules);
const runtime = createRuntime({ tools: [look, note], ledger, contracts });
const server = await createHttpServer({
  ledger,
  runtime,
  tools: [look, note],
  ledgerUrl: path,
  port: 0,
  localName: 'load',
  // With the default limits if they are under test.
  ...(limits === 'default' ? {} : { limits: { rate: { perSecond: 10_000, burst: 10_000 } } }),
  onError: (error) => console.error(error),
});
let peakRss = 0;
setInterval(() => (peakRss = Math.max(peakRss, process.memoryUsage.rss())), sampleMs).unref();
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

answerOrders({ server, runtime, ledger }, (): ServerReport => {
  const loopMs = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
  const peakRssMb = Math.max(peakRss, process.memoryUsage.rss()) / 1_048_576;
  // Collects garbage first, so that the next request starts from live memory.
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  peakRss = rss;
  const { user, system } = process.cpuUsage();
  const loop = process.threadCpuUsage();
  const said: ServerReport = {
    rssMb: rss / 1_048_576,
    peakRssMb,
    heapMb: heapUsed / 1_048_576,
    loopP99Ms: loopMs.p99,
    loopMaxMs: loopMs.max,
    cpuSeconds: (user + system) / 1e6,
    loopCpuSeconds: (loop.user + loop.system) / 1e6,
  };
  delay.reset();
  return said;
});
