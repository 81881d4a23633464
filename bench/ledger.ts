/**
 * Measures durable calls on the SQLite ledger against the raw limit: the same rows, also serialised, written by plain
 * `node:sqlite` into the same tables. Both use the same flags, the same number of rows per commit, and the same two
 * commits per call (one for reads). Lanes take turns in short rounds, so that they share the load of the machine:
 * compare columns, not runs.
 *
 * Our calls include the rows of lists and the words of search, which are written in the same commits.
 *
 * A second table repeats the effects on a slow disk: a small library, compiled here, makes each flush 5 ms longer.
 * `--quick` measures less, `--no-slow` skips the slow disk. `--floor` adds a lane that makes each call on a memory ledger
 * and then writes its raw rows, in one thread. No ledger that writes in the thread of its runtime can be faster.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { sampleLoopDelay } from './loop-delay.ts';
import { createProgress } from './progress.ts';
import { createRawLane } from './raw-ledger.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
/** This process has the library loaded that makes flushes slow. */
const isSlow = process.argv.includes('--slow-disk');
const hasFloor = process.argv.includes('--floor');
const slowFlushMs = 5;
const rounds = quick || isSlow ? 3 : 10;
const roundMs = quick ? 150 : 400;
const longRoundMs = quick ? 1_000 : 5_000;
const inFlights = [1, 32, 256] as const;
/** Short enough for one round of rows. */
const oneRoundMs = 0.05;
type Cell = { readonly inFlight: number; readonly forMs: number; readonly rounds: number };
const shortCells: readonly Cell[] = inFlights.map((inFlight) => ({ inFlight, forMs: roundMs, rounds }));
const longCell: Cell = { inFlight: 256, forMs: longRoundMs, rounds: 2 };

const input = z.object({ city: z.string(), days: z.number() });
const run = async ({ city }: { city: string }): Promise<{ city: string; ok: boolean }> => ({
  city,
  ok: true,
});
const tools = [
  defineTool({ name: 'send_mail', input, mode: 'external', loopLimit: 1e9, run }),
  defineTool({ name: 'get_weather', input, mode: 'read', loopLimit: 1e9, run }),
] as const;

/** Makes this many concurrent calls for a while, and records the duration of each. */
export type Lane = { readonly burst: (inFlight: number, forMs: number, took: number[]) => Promise<void> };

const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
const ledger = await openLedger(`sqlite:${join(folder, 'ours.db')}`);
const runtime = createRuntime({ tools, ledger });
let count = 0;

type ToolName = 'send_mail' | 'get_weather';

const oursOn = (name: ToolName): Lane => ({
  async burst(inFlight, forMs, took) {
    const untilMs = performance.now() + forMs;
    const worker = async (_: unknown, n: number): Promise<void> => {
      let turn = runtime.turn({ sessionId: `session-${n}` });
      for (let made = 1; performance.now() < untilMs; made++) {
        if (made % 1_000 === 0) turn = runtime.turn({ sessionId: `session-${n}` });
        const beganMs = performance.now();
        await turn.call({ id: `call_${count++}`, name, arguments: { city: 'Lyon', days: count } });
        took.push(performance.now() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
  },
});

/** Each burst has a memory ledger of its own, so that the calls of all bursts need not fit into memory. */
const floorOn = (name: ToolName, raw: Lane): Lane => ({
  async burst(inFlight, forMs, took) {
    const memory = createRuntime({ tools, ledger: 'memory:' });
    const turns = Array.from({ length: inFlight }, (_, n) => memory.turn({ sessionId: `session-${n}` }));
    for (const untilMs = performance.now() + forMs; performance.now() < untilMs;) {
      await Promise.all(
        turns.map((turn) =>
          turn.call({ id: `call_${count++}`, name, arguments: { city: 'Lyon', days: count } }),
        ),
      );
      await raw.burst(inFlight, oneRoundMs, took);
    }
    await memory.close();
  },
});

/** Samples of the ledger's rows, so that the raw lane writes the same. */
async function sample(name: ToolName): Promise<{ text: string; bodies: string }[]> {
  const sessionId = `sample-${name}`;
  const turn = runtime.turn({ sessionId });
  for (const id of ['first', 'call_123456'])
    await turn.call({ id, name, arguments: { city: 'Lyon', days: 3 } });
  const entries = await ledger.readEntries({ sessionId, limit: 100 });
  // The first call also opens the turn: use the rows of the second, which are typical.
  const perCall = entries.length / 2;
  return entries.slice(perCall).map(({ text, bodies }) => ({ text, bodies: bodies ?? 'null' }));
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
const sort = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const median = (values: readonly number[]): number => quantile(sort(values), 0.5);

type Figures = {
  readonly perSecond: number[];
  readonly took: number[];
  readonly delays: number[];
  /** CPU time of the whole process, all threads included. */
  cpuMicros: number;
};
const newFigures = (): Figures => ({ perSecond: [], took: [], delays: [], cpuMicros: 0 });

async function measureBurst(
  { burst }: Lane,
  inFlight: number,
  forMs: number,
  figures: Figures,
): Promise<void> {
  const took: number[] = [];
  const stop = sampleLoopDelay(figures.delays);
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  await burst(inFlight, forMs, took);
  const elapsedMs = performance.now() - beganMs;
  const { user, system } = process.cpuUsage(cpu);
  stop();
  figures.cpuMicros += user + system;
  figures.perSecond.push((took.length / elapsedMs) * 1_000);
  for (const ms of took) figures.took.push(ms);
}

async function measure(name: ToolName): Promise<{
  readonly rows: string[][];
  readonly figures: Record<string, number>;
}> {
  const samples = await sample(name);
  const lanes: readonly (readonly [string, Lane])[] = [
    ['ours', oursOn(name)],
    ['raw', createRawLane(join(folder, `raw-${name}.db`), samples)],
    ...(hasFloor
      ? [['floor', floorOn(name, createRawLane(join(folder, `floor-${name}.db`), samples))] as const]
      : []),
  ];
  const cells = isSlow ? shortCells : [...shortCells, longCell];
  const found = cells.map(() => new Map<string, Figures>(lanes.map(([lane]) => [lane, newFigures()])));
  const progress = createProgress(
    name,
    cells.reduce((sum, cell) => sum + cell.rounds, 0),
  );
  for (const inFlight of inFlights) for (const [, each] of lanes) await each.burst(inFlight, 100, []); // warm-up
  for (let round = 0; round < rounds; round++)
    for (const [index, cell] of cells.entries()) {
      if (round >= cell.rounds) continue;
      for (const [lane, each] of round % 2 === 0 ? lanes : lanes.toReversed())
        await measureBurst(each, cell.inFlight, cell.forMs, found[index]?.get(lane) as Figures);
      progress.step();
    }
  progress.done();
  const rows: string[][] = [];
  const figures: Record<string, number> = {};
  for (const [index, { inFlight, forMs }] of cells.entries()) {
    const ours = found[index]?.get('ours') as Figures;
    const raw = found[index]?.get('raw') as Figures;
    const isLong = forMs === longRoundMs;
    const ofRaw = (lane: Figures): number =>
      median(lane.perSecond.map((value, round) => value / (raw.perSecond[round] ?? 1)));
    const ratio = ofRaw(ours);
    const floor = found[index]?.get('floor');
    const took = sort(ours.took);
    const delays = sort(ours.delays);
    const mode = name === 'get_weather' ? 'read' : 'external';
    const key = `${isSlow ? 'slow_' : ''}${mode}_${inFlight}${isLong ? '_long' : ''}`;
    const measured: Readonly<Record<string, number>> = {
      per_s: Math.round(median(ours.perSecond)),
      raw_per_s: Math.round(median(raw.perSecond)),
      ratio: Number(ratio.toFixed(3)),
      p50_ms: Number(quantile(took, 0.5).toFixed(3)),
      p99_ms: Number(quantile(took, 0.99).toFixed(3)),
      loop_p50_ms: Number(quantile(delays, 0.5).toFixed(2)),
      loop_p99_ms: Number(quantile(delays, 0.99).toFixed(2)),
      cpu_us: Math.round(ours.cpuMicros / Math.max(1, ours.took.length)),
      raw_cpu_us: Math.round(raw.cpuMicros / Math.max(1, raw.took.length)),
      ...(floor && { floor_ratio: Number(ofRaw(floor).toFixed(3)) }),
    };
    for (const [figure, value] of Object.entries(measured)) figures[`${key}_${figure}`] = value;
    rows.push([
      `${mode}, ${inFlight} in flight${isLong ? ` for ${longRoundMs / 1_000} s` : ''}`,
      String(measured['per_s']),
      quantile(took, 0.5).toFixed(2),
      quantile(took, 0.99).toFixed(2),
      quantile(delays, 0.5).toFixed(2),
      quantile(delays, 0.99).toFixed(2),
      String(measured['cpu_us']),
      String(measured['raw_per_s']),
      String(measured['raw_cpu_us']),
      `${Math.round(ratio * 100)} %`,
      inFlight === 1 ? '85 %' : '70 %',
      ...(floor ? [`${Math.round(ofRaw(floor) * 100)} %`] : []),
    ]);
  }
  return { rows, figures };
}

const measured = [await measure('send_mail'), ...(isSlow ? [] : [await measure('get_weather')])];
await runtime.close();
await ledger.close();
rmSync(folder, { recursive: true });
printTable(
  [
    isSlow ? `durable calls, each flush ${slowFlushMs} ms slower` : 'durable calls, synchronous=FULL',
    'calls/s',
    'p50 ms',
    'p99 ms',
    'loop p50 ms',
    'loop p99 ms',
    'CPU µs',
    'raw calls/s',
    'raw CPU µs',
    'of raw',
    'goal',
    ...(hasFloor ? ['runtime + raw'] : []),
  ],
  measured.flatMap(({ rows }) => rows),
);
process.stdout.write(
  `${JSON.stringify({ bench: isSlow ? 'ledger-slow-disk' : 'ledger', node: process.version, ...Object.assign({}, ...measured.map(({ figures }) => figures)) })}\n`,
);
if (!isSlow && !process.argv.includes('--no-slow')) measureSlowDisk();

/** Runs the effects again in a process whose flushes are slow. Needs Linux and a C compiler. */
function measureSlowDisk(): void {
  const built = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
  const library = join(built, 'slow-flush.so');
  try {
    const source = fileURLToPath(new URL('slow-flush.c', import.meta.url));
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
    spawnSync(
      process.execPath,
      [...process.execArgv, fileURLToPath(import.meta.url), '--slow-disk', ...(quick ? ['--quick'] : [])],
      {
        stdio: 'inherit',
        env: { ...process.env, LD_PRELOAD: library, SLOW_FLUSH_MS: String(slowFlushMs) },
      },
    );
  } catch (error) {
    process.stdout.write(`The slow disk was not measured: ${(error as Error).message}\n`);
  } finally {
    rmSync(built, { recursive: true });
  }
}
