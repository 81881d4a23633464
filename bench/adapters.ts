/**
 * What governing the tools of a framework costs: the same tool in the framework's own loop, as it is, and governed on
 * the memory ledger and on a file. The model is scripted and takes the time, from the first call it asks for until it
 * has heard of the last. Compare columns of one run, not runs.
 *
 *   npm run bench:adapters -- [--quick] [--only NAME]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from 'quittance/store';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

// What the lanes import is installed where they stand, and only there: nothing here may name its types.
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
  throw new Error(`There is no "${only}". Known: ${lanes.map(({ name }) => name).join('; ')}.`);

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

/** Long enough for the compiler to have made up its mind, where that does not take all day. */
async function warmUp(run: RunOnce): Promise<void> {
  const startedAt = performance.now();
  let warmed = 0;
  do await time(run);
  while (!quick && ++warmed < 100 && performance.now() - startedAt < 3_000);
}

async function measure(lane: Lane, ledgers: Readonly<Record<Way, Ledger | undefined>>): Promise<Timing> {
  const overrides = { [tool.name]: { mode: 'external', loopLimit: 1_000_000 } };
  const started: [Way, RunOnce, number[]][] = [];
  for (const way of ways) {
    const ledger = ledgers[way];
    started.push([way, await lane.start(tool, ledger && { ledger, overrides }), []]);
  }
  const rounds = quick ? 3 : lane.isSlow === true ? 5 : 60;
  // What waits for a disk is measured by itself, after the rest: whatever it leaves behind slows others down.
  for (const together of [started.slice(0, 2), started.slice(2)]) {
    for (const [, run] of together) await warmUp(run);
    const progress = createProgress(`${lane.name}, ${together.map(([way]) => way).join(' and ')}`, rounds);
    const startedAt = performance.now();
    for (let round = 0; round < rounds; round++) {
      // Some take long for everything; a median of fewer will do for them.
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
  `One call, the framework's round around it included, median in µs; ${callsPerRun} calls a run.\n`,
);
printTable(['framework', 'alone', 'memory', 'sqlite', '+ memory', '+ sqlite', 'memory ×', 'sqlite ×'], rows);
console.log(JSON.stringify({ bench: 'adapters', calls_per_run: callsPerRun, figures }));
process.exit(0);
