/**
 * Measures what telemetry adds to a call on the memory ledger: without it, sampled out, recorded, with and without
 * metrics. It also measures what the SDK alone takes. Lanes are interleaved in short rounds, so that they share the load
 * of the machine, and compared by the CPU time of the process. Compare columns of one run, not runs.
 */
import type { Context } from '@opentelemetry/api';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { Sampler } from '@opentelemetry/sdk-trace';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  NoopSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createRuntime } from 'quittance';
import type { Telemetry } from '@quittance/opentelemetry';
import { openTelemetry } from '@quittance/opentelemetry';
import { args, readTool, writeTool } from './core-lanes.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 40 : 400;
const callsPerRound = 250;

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const spansBy = (sampler: Sampler): Telemetry =>
  openTelemetry({
    tracerProvider: new TracerProvider({ sampler, spanProcessors: [new NoopSpanProcessor()] }),
    meterProvider: false,
  });

function spansAndMetrics(sampler: Sampler): Telemetry {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  return openTelemetry({
    tracerProvider: new TracerProvider({ sampler, spanProcessors: [new NoopSpanProcessor()] }),
    meterProvider: new MeterProvider({ readers: [reader] }),
  });
}

/** The agent has a trace, and it is not sampled. */
const unsampled: Context = trace.setSpanContext(context.active(), {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 0,
});
const sampled: Context = trace.setSpanContext(context.active(), {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
});

type LaneSpec = {
  readonly name: string;
  readonly telemetry?: Telemetry;
  /** The context of the agent. */
  readonly within?: Context;
};
const specs: readonly LaneSpec[] = [
  { name: 'off', within: unsampled },
  { name: 'off, again', within: unsampled },
  { name: 'sampled out, in a trace', telemetry: spansBy(new AlwaysOffSampler()), within: unsampled },
  { name: 'sampled out, no trace', telemetry: spansBy(new AlwaysOffSampler()) },
  { name: 'recorded', telemetry: spansBy(new AlwaysOnSampler()), within: sampled },
  {
    name: 'sampled out, with metrics',
    telemetry: spansAndMetrics(new AlwaysOffSampler()),
    within: unsampled,
  },
  { name: 'recorded, with metrics', telemetry: spansAndMetrics(new AlwaysOnSampler()), within: sampled },
];

/** What the SDK alone takes for a call: a call cannot cost less. */
function measureFloor(): Readonly<Record<string, number>> {
  const tracer = new TracerProvider({
    sampler: new AlwaysOffSampler(),
    spanProcessors: [new NoopSpanProcessor()],
  }).getTracer('floor');
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meter = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  }).getMeter('floor');
  const [counter, histogram] = [meter.createCounter('calls'), meter.createHistogram('duration')];
  const labels = { tool: 'read_it', outcome: 'ToolExecutionResult' };
  const parts: Readonly<Record<string, () => unknown>> = {
    'start and end a span, no trace': () => tracer.startSpan('execute_tool read_it').end(),
    'the same, and run with it': () => {
      const span = tracer.startSpan('execute_tool read_it');
      context.with(trace.setSpan(context.active(), span), () => 1);
      span.end();
    },
    'start and end a span, in a trace': () => tracer.startSpan('execute_tool read_it', {}, unsampled).end(),
    'count a call and its duration': () => {
      counter.add(1, { ...labels, code: '' });
      histogram.record(0.001, labels);
    },
  };
  const taken = new Map<string, number[]>(Object.keys(parts).map((name) => [name, []]));
  const [times, floorRounds] = [1_000, quick ? 60 : 300];
  for (let round = 0; round < floorRounds; round++)
    for (const [name, part] of Object.entries(parts)) {
      const cpu = process.cpuUsage();
      for (let n = 0; n < times; n++) part();
      const { user, system } = process.cpuUsage(cpu);
      if (round >= 20) taken.get(name)?.push((user + system) / times);
    }
  return Object.fromEntries([...taken].map(([name, values]) => [name, Number(median(values).toFixed(3))]));
}

type Measured = { readonly name: string; readonly cpuUs: number[]; readonly wallUs: number[] };

async function measure(tool: typeof readTool | typeof writeTool): Promise<readonly Measured[]> {
  let calls = 0;
  const makers = specs.map(({ name, telemetry, within = context.active() }) => {
    const runtime = createRuntime({ tools: [tool], ...(telemetry !== undefined && { telemetry }) });
    let turn = runtime.turn({ sessionId: 'bench' });
    return {
      name,
      within,
      cpuUs: [] as number[],
      wallUs: [] as number[],
      // A fresh session for every round: its record would grow otherwise.
      restart: (round: number) => (turn = runtime.turn({ sessionId: `bench ${round}` })),
      call: () => turn.call({ id: `call_${calls++}`, name: tool.name, arguments: args }),
    };
  });
  const repeat = async (call: () => Promise<unknown>, times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await call();
  };
  for (const { call, within } of makers)
    await context.with(within, () => repeat(call, quick ? 5_000 : 15_000));
  const progress = createProgress(`telemetry, ${tool.mode}`, rounds);
  for (let round = 0; round < rounds; round++) {
    // Another order in every round, so that no lane always pays for the garbage of the one before.
    for (let at = 0; at < makers.length; at++) {
      const lane = makers[(at + round) % makers.length];
      if (lane === undefined) continue;
      lane.restart(round);
      const cpu = process.cpuUsage();
      const wall = performance.now();
      await context.with(lane.within, () => repeat(lane.call, callsPerRound));
      const used = process.cpuUsage(cpu);
      lane.wallUs.push(((performance.now() - wall) * 1_000) / callsPerRound);
      lane.cpuUs.push((used.user + used.system) / callsPerRound);
    }
    progress.step();
  }
  progress.done();
  return makers;
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

const figures: Record<string, unknown> = {
  bench: 'telemetry',
  node: process.version,
  sampled_out_goal_us: 2,
};
for (const tool of [readTool, writeTool]) {
  const measured = await measure(tool);
  const off = measured[0];
  if (off === undefined) throw new Error('No lane without telemetry.');
  /** The median of the differences inside one round: what other programs do to both cancels out. */
  const over = (lane: Measured, of: 'cpuUs' | 'wallUs'): number =>
    median(lane[of].map((value, round) => value - (off[of][round] ?? 0)));
  printTable(
    [`one ${tool.mode} call`, 'CPU µs', 'over off, CPU µs', 'over off, wall µs'],
    measured.map((lane) => [
      lane.name,
      median(lane.cpuUs).toFixed(2),
      over(lane, 'cpuUs').toFixed(2),
      over(lane, 'wallUs').toFixed(2),
    ]),
  );
  for (const lane of measured)
    figures[`${tool.mode}_${lane.name.replaceAll(/[^a-z]+/g, '_')}_over_off_us`] = Number(
      over(lane, 'cpuUs').toFixed(3),
    );
}
const floor = measureFloor();
printTable(
  ['the SDK alone', 'CPU µs'],
  Object.entries(floor).map(([name, us]) => [name, us.toFixed(2)]),
);
process.stdout.write(`${JSON.stringify({ ...figures, sdk_alone_us: floor })}\n`);
