/**
 * Measures the cost of a call through all gates on the memory ledger. For comparison: calling the function directly,
 * and validating with the same schema library alone. Lanes are interleaved, so that they share the load of the
 * machine. Compare columns of one run, not runs.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { z } from 'zod';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 20 : 200;
const callsPerRound = 250;

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

const schema = z.object({ city: z.string(), days: z.number() });
const body = async (args: { city: string; days: number }): Promise<{ city: string; ok: boolean }> => ({
  city: args.city,
  ok: true,
});
const args = { city: 'Lyon', days: 3 };

const readTool = defineTool({
  name: 'get_weather',
  input: schema,
  mode: 'read',
  loopLimit: 1_000_000_000,
  run: body,
});
const writeTool = defineTool({
  name: 'send_mail',
  input: schema,
  mode: 'external',
  loopLimit: 1_000_000_000,
  run: body,
});

type Lane = { readonly name: string; readonly call: (n: number) => Promise<unknown> };

let nextId = 0;
const oursOn = (
  name: string,
  toolName: string,
  tools = [readTool, writeTool] as const,
  sessionId = 's',
): Lane => {
  // A new turn per thousand calls, as an agent does, so that no turn grows without end.
  const runtime = createRuntime({ tools });
  let turn = runtime.turn({ sessionId });
  return {
    name,
    call: (n) => {
      if (n % 1_000 === 0) turn = runtime.turn({ sessionId });
      return turn.call({ id: `c${nextId++}`, name: toolName, arguments: args });
    },
  };
};

const lanes: readonly Lane[] = [
  { name: 'function alone', call: () => body(args) },
  { name: 'validated by zod', call: async () => body(schema.parse(args)) },
  oursOn('quittance, read', 'get_weather'),
  oursOn('quittance, external', 'send_mail'),
];

const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;

type Timing = {
  readonly name: string;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly bytes: number;
};

async function time(measured: readonly Lane[], label: string): Promise<Timing[]> {
  const samples = measured.map(() => new Float64Array(rounds * callsPerRound));
  const progress = createProgress(label, rounds);
  // Long enough for the JIT compiler to finish.
  for (const lane of measured) for (let n = 0; n < 20_000; n++) await lane.call(n);
  for (let round = 0; round < rounds; round++) {
    for (const [index, lane] of measured.entries()) {
      const into = samples[index] as Float64Array;
      for (let n = 0; n < callsPerRound; n++) {
        const before = performance.now();
        await lane.call(round * callsPerRound + n);
        into[round * callsPerRound + n] = (performance.now() - before) * 1_000;
      }
    }
    progress.step();
  }
  progress.done();
  const timings: Timing[] = [];
  for (const [index, lane] of measured.entries()) {
    const sorted = (samples[index] as Float64Array).sort();
    timings.push({
      name: lane.name,
      p50Us: quantile(sorted, 0.5),
      p99Us: quantile(sorted, 0.99),
      bytes: await allocations(lane),
    });
  }
  return timings;
}

/** Bytes allocated per call, garbage included: short runs between collections. */
async function allocations(lane: Lane): Promise<number> {
  const count = 2_000;
  const seen: number[] = [];
  for (let run = 0; run < 5; run++) {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let n = 1; n <= count; n++) await lane.call(n);
    seen.push((process.memoryUsage().heapUsed - before) / count);
  }
  // A collection during a run shows as too little.
  return Math.max(...seen);
}

const us = (value: number): string => value.toFixed(2);

async function main(): Promise<void> {
  const timings = await time(lanes, 'one call');
  const validated = timings[1] as Timing;
  printTable(
    ['one call', 'p50 µs', 'p99 µs', 'over validated, p50 µs', 'bytes/call'],
    timings.map(({ name, p50Us, p99Us, bytes }) => [
      name,
      us(p50Us),
      us(p99Us),
      us(p50Us - validated.p50Us),
      String(Math.round(bytes)),
    ]),
  );

  const counts = [10, 100, 1_000];
  const byTools = await time(
    counts.map((count) => {
      const others = Array.from({ length: count - 1 }, (_, index) =>
        defineTool({ name: `tool_${index}`, input: schema, run: body }),
      );
      return oursOn(`${count} tools`, 'get_weather', [readTool, ...others] as never);
    }),
    'tools registered',
  );
  printTable(
    ['tools registered', 'p50 µs', 'p99 µs'],
    byTools.map(({ name, p50Us, p99Us }) => [name, us(p50Us), us(p99Us)]),
  );

  const grown = await growth();
  printTable(
    ['calls already in the session', 'p50 µs'],
    grown.map(({ calls, p50Us }) => [String(calls), us(p50Us)]),
  );

  const ours = timings[2] as Timing;
  const figures = {
    bench: 'core',
    node: process.version,
    direct_p50_us: timings[0]?.p50Us,
    validated_p50_us: validated.p50Us,
    read_p50_us: ours.p50Us,
    read_p99_us: ours.p99Us,
    external_p50_us: timings[3]?.p50Us,
    external_p99_us: timings[3]?.p99Us,
    read_over_validated_us: ours.p50Us - validated.p50Us,
    external_over_validated_us: (timings[3]?.p50Us ?? 0) - validated.p50Us,
    goal_us: 10,
    bytes_per_read: Math.round(ours.bytes),
    tools_1000_over_10: (byTools[2]?.p50Us ?? 0) / (byTools[0]?.p50Us ?? 1),
    session_100k_over_0: (grown.at(-1)?.p50Us ?? 0) / (grown[0]?.p50Us ?? 1),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** The same calls in a session that grows. */
async function growth(): Promise<{ calls: number; p50Us: number }[]> {
  const total = quick ? 20_000 : 100_000;
  const window = 2_000;
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [readTool, writeTool], ledger });
  let turn = runtime.turn({ sessionId: 'long' });
  const progress = createProgress('a growing session', total / window);
  const found: { calls: number; p50Us: number }[] = [];
  for (let n = 0; n < 4_000; n++) await turn.call({ id: `warm${n}`, name: 'send_mail', arguments: args });
  for (let calls = 0; calls <= total; calls += window) {
    turn = runtime.turn({ sessionId: 'long' });
    const samples = new Float64Array(window);
    for (let n = 0; n < window; n++) {
      const before = performance.now();
      await turn.call({ id: `g${calls + n}`, name: 'send_mail', arguments: args });
      samples[n] = (performance.now() - before) * 1_000;
    }
    if (calls % (total / 5) === 0) found.push({ calls, p50Us: quantile(samples.sort(), 0.5) });
    progress.step();
  }
  progress.done();
  return found;
}

await main();
