/**
 * Measures the cost of governing a framework's tools. The same tool runs in the framework's own loop: unchanged,
 * governed on the memory ledger, and governed on a file. A scripted model takes the time, from its first call until
 * it has received the last answer. Compare columns of one run, not runs.
 *
 *   npm run bench:adapters -- [--quick] [--only NAME]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenLedger } from 'quittance/store';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

// The imports of the lanes are installed only in their own folder, so their types cannot be named here.
type Round = { readonly text: string } | { readonly calls: readonly object[] };
type RunOnce = (script: readonly (() => Round)[], sessionId: string) => Promise<unknown>;
type Lane = {
  readonly name: string;
  readonly isSlow?: boolean;
  start(tool: object, options: object | undefined): Promise<RunOnce>;
};

const quick = process.argv.includes('--quick');
const callsPerRun = 20;
const mostMs = 8_000;
const folder = mkdtempSync(join(tmpdir(), 'quittance-adapters-'));
const path = new URL('../test/frameworks/bench/lanes.ts', import.meta.url).href;
const { lanes } = (await import(path)) as { readonly lanes: readonly Lane[] };
const at = process.argv.indexOf('--only');
const only = at < 0 ? '' : (process.argv[at + 1] ?? '');
const measured = lanes.filter(({ name }) => name.includes(only));
if (measured.length === 0)
  throw new Error(`Unknown lane "${only}". Known: ${lanes.map(({ name }) => name).join('; ')}.`);

const tool = {
  name: 'get_weather',
  parameters: { city: 'string', day: 'number' },
  run: ({ city }: { readonly city: string }) => ({ city, degrees: 21, sky: 'clear' }),
};

let runs = 0;
/** Microseconds per call of one run. */
async function time(run: RunOnce): Promise<number> {
  const sessionId = `session-${++runs}`;
  let startedAt = 0;
  let endedAt = 0;
  const script = Array.from({ length: callsPerRun + 1 }, (_, day) => (): Round => {
    if (day === 0) startedAt = performance.now();
    if (day === callsPerRun) endedAt = performance.now();
    if (day === callsPerRun) return { text: 'Done.' };
    const id = `call_${runs}_${day}`;
    return { calls: [{ id, name: tool.name, arguments: { city: 'Lyon', day } }] };
  });
  await run(script, sessionId);
  if (endedAt === 0) throw new Error('The run ended before the script did.');
  return ((endedAt - startedAt) / callsPerRun) * 1_000;
}

const ways = ['alone', 'memory', 'sqlite'] as const;
type Way = (typeof ways)[number];
type Timing = Readonly<Record<Way, number>>;

const median = (samples: readonly number[]): number =>
  samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;

/** Long enough for the JIT compiler to finish, if that does not take too long. */
async function warmUp(run: RunOnce): Promise<void> {
  const startedAt = performance.now();
  let warmed = 0;
  do await time(run);
  while (!quick && ++warmed < 100 && performance.now() - startedAt < 3_000);
}

async function measure(lane: Lane, ledgers: Readonly<Record<Way, OpenLedger | undefined>>): Promise<Timing> {
  const overrides = { [tool.name]: { mode: 'external', loopLimit: 1_000_000 } };
  const started: [Way, RunOnce, number[]][] = [];
  for (const way of ways) {
    const ledger = ledgers[way];
    started.push([way, await lane.start(tool, ledger && { ledger, overrides }), []]);
  }
  const rounds = quick ? 3 : lane.isSlow === true ? 5 : 60;
  // Disk-bound lanes run separately, after the others, because they slow the others down.
  for (const together of [started.slice(0, 2), started.slice(2)]) {
    for (const [, run] of together) await warmUp(run);
    const progress = createProgress(`${lane.name}, ${together.map(([way]) => way).join(' and ')}`, rounds);
    const startedAt = performance.now();
    for (let round = 0; round < rounds; round++) {
      // Some lanes are slow; a median of fewer rounds is enough for them.
      if (round >= 5 && performance.now() - startedAt > mostMs) break;
      for (const [, run, samples] of together) samples.push(await time(run));
      progress.step();
    }
    progress.done();
  }
  return Object.fromEntries(started.map(([way, , samples]) => [way, median(samples)])) as Timing;
}

const file = await openLedger(join(folder, 'ledger.db'));
const figures: Record<string, object> = {};
const rows: string[][] = [];
const us = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
try {
  for (const lane of measured) {
    const { alone, memory, sqlite } = await measure(lane, {
      alone: undefined,
      memory: createMemoryLedger(),
      sqlite: file,
    });
    rows.push([
      lane.name,
      ...[alone, memory, sqlite, memory - alone, sqlite - alone].map(us),
      (memory / alone).toFixed(2),
      (sqlite / alone).toFixed(2),
    ]);
    const figure = {
      alone_us: alone,
      memory_us: memory,
      sqlite_us: sqlite,
      added_memory_us: memory - alone,
      added_sqlite_us: sqlite - alone,
    };
    figures[lane.name.toLowerCase().replaceAll(/\W+/g, '_')] = Object.fromEntries(
      Object.entries(figure).map(([name, value]) => [name, Math.round(value * 10) / 10]),
    );
  }
} finally {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  `One call, including the framework's round around it, median in µs; ${callsPerRun} calls per run.\n`,
);
printTable(['framework', 'alone', 'memory', 'sqlite', '+ memory', '+ sqlite', 'memory ×', 'sqlite ×'], rows);
console.log(JSON.stringify({ bench: 'adapters', calls_per_run: callsPerRun, figures }));
process.exit(0);
