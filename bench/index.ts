/**
 * Measures the cost of a call through all gates on the memory ledger. For comparison: calling the function directly,
 * and validating with the same schema library alone. Lanes are interleaved, so that they share the load of the
 * machine. Compare columns of one run, not runs.
 */
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { measureBytesPerCall } from './bytes-per-call.ts';
import type { Lane } from './core-lanes.ts';
import { args, body, createLanes, oursOn, readTool, schema, writeTool } from './core-lanes.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 20 : 200;
const callsPerRound = 250;

const lanes = createLanes();

const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;

type Timing = {
  readonly name: string;
  readonly p50Us: number;
  readonly p99Us: number;
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
    });
  }
  return timings;
}

const us = (value: number): string => value.toFixed(2);

async function main(): Promise<void> {
  const timings = await time(lanes, 'one call');
  const validated = timings[1] as Timing;
  const bytes = measureBytesPerCall();
  printTable(
    ['one call', 'p50 µs', 'p99 µs', 'over validated, p50 µs', 'bytes per call'],
    timings.map(({ name, p50Us, p99Us }) => [
      name,
      us(p50Us),
      us(p99Us),
      us(p50Us - validated.p50Us),
      String(bytes[name]),
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
    bytes_per_validated: bytes[validated.name],
    bytes_per_read: bytes[ours.name],
    bytes_per_external: bytes['quittance, external'],
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
