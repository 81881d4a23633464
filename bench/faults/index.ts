/**
 * Fault injection below the product: a small library, compiled here and loaded by LD_PRELOAD. It makes the n-th
 * fsync, write, open or other call of the C library fail, for every n of a short scenario. After a restart without
 * faults every call must have one outcome, the same as answered before, and `verify` must find nothing.
 *
 *   npm run faults -- [--only fsync,write] [--mode once|sticky|short] [--stride 1] [--at-once 2]
 *
 * `--stride 5` tries only every fifth place. Needs Linux and a C compiler (`cc`, or the one named by CC). The folders
 * of failed trials are kept.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { Plan } from './plan.ts';
import { plans } from './plan.ts';
import { countPlaces, tryFault } from './trial.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    mode: { type: 'string' },
    stride: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '2' },
  },
});
const names = [...new Set(plans.map(({ name }) => name))];
const only = values.only?.split(',');
const unknown = only?.find((name) => !names.includes(name));
if (unknown !== undefined)
  fail(`--only takes some of ${names.join(', ')}, separated by commas; not ${unknown}.`);
const stride = Number(values.stride);
if (!Number.isSafeInteger(stride) || stride < 1) fail('--stride takes a whole number above 0.');
const atOnce = Number(values['at-once']);
if (!Number.isSafeInteger(atOnce) || atOnce < 1) fail('--at-once takes a whole number above 0.');
const chosen = plans.filter(
  ({ name, mode }) => (only?.includes(name) ?? true) && (values.mode === undefined || values.mode === mode),
);
if (chosen.length === 0) fail('Unknown fault: --mode takes one of once, sticky, short.');

if (process.platform !== 'linux')
  fail(`LD_PRELOAD faults need Linux; this is ${process.platform}. Nothing was tried.`);
const folder = mkdtempSync(join(tmpdir(), 'quittance-faults-'));
const library = compile();
let stopped = false;
process.once('SIGINT', () => (stopped = true));

type Tally = {
  tried: number;
  hit: number;
  told: number;
  succeeded: number;
  indeterminate: number;
  notRun: number;
  exceptions: number;
  wrong: number;
};
const emptyTally = (): Tally => ({
  tried: 0,
  hit: 0,
  told: 0,
  succeeded: 0,
  indeterminate: 0,
  notRun: 0,
  exceptions: 0,
  wrong: 0,
});

const compileCache = join(folder, 'compile-cache');
const counts = new Map<string, number>();
const work: { readonly plan: Plan; readonly nth: number }[] = [];
for (const plan of chosen) {
  if (!counts.has(plan.ops)) {
    const places = await countPlaces({
      folder: join(folder, `count-${counts.size}`),
      library,
      plan,
      compileCache,
    });
    counts.set(plan.ops, places.length);
  }
  for (let nth = 1; nth <= (counts.get(plan.ops) ?? 0); nth += plan.stride * stride) work.push({ plan, nth });
}

const byPlan = new Map(chosen.map((plan) => [plan, emptyTally()]));
const byHit = new Map<string, Tally>();
const wrong: string[] = [];
const progress = createProgress('faults', work.length);
const waiting = work.entries();
async function lane(): Promise<void> {
  for (const [index, { plan, nth }] of waiting) {
    if (stopped) return;
    const own = join(folder, `trial-${index}`);
    const trial = await tryFault({ folder: own, library, plan, nth, compileCache });
    const hit = byHit.get(trial.hit ?? '(not reached)') ?? emptyTally();
    byHit.set(trial.hit ?? '(not reached)', hit);
    for (const tally of [byPlan.get(plan), hit]) {
      if (tally === undefined) continue;
      tally.tried++;
      if (trial.hit !== undefined) tally.hit++;
      if (trial.problems.length > 0) tally.wrong++;
      for (const key of ['told', 'succeeded', 'indeterminate', 'notRun', 'exceptions'] as const)
        tally[key] += trial[key];
    }
    if (trial.problems.length === 0) rmSync(own, { recursive: true, force: true });
    else
      wrong.push(
        `${plan.name} ${plan.error} ${plan.mode}${plan.dies ? ', killed' : ''}, call ${nth} (${trial.hit ?? 'not reached'}), ${own}:\n` +
          trial.problems.map((problem) => `  ${problem}`).join('\n'),
      );
    progress.step();
  }
}
await Promise.all(Array.from({ length: atOnce }, lane));
progress.done();

const heading = [
  'trials',
  'faults met',
  'answered before',
  'succeeded',
  'indeterminate',
  'did not run',
  'exceptions',
  'wrong',
];
const cells = (tally: Tally): string[] =>
  [
    tally.tried,
    tally.hit,
    tally.told,
    tally.succeeded,
    tally.indeterminate,
    tally.notRun,
    tally.exceptions,
    tally.wrong,
  ].map(String);
printTable(
  ['fault', 'error', 'mode', ...heading],
  [...byPlan].map(([{ name, error, mode, dies }, tally]) => [
    name,
    error,
    dies ? `${mode}, killed` : mode,
    ...cells(tally),
  ]),
);
printTable(
  ['call and file', ...heading],
  [...byHit]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, tally]) => [name, ...cells(tally)]),
);
for (const text of wrong.slice(0, 30)) process.stdout.write(`${text}\n`);
if (wrong.length > 30) process.stdout.write(`… and ${wrong.length - 30} more\n`);
const sum = (key: keyof Tally): number =>
  [...byPlan.values()].reduce((total, tally) => total + tally[key], 0);
process.stdout.write(
  `${JSON.stringify({
    faults: 'preload',
    node: process.version,
    trials: sum('tried'),
    planned: work.length,
    met: sum('hit'),
    told_before: sum('told'),
    succeeded: sum('succeeded'),
    indeterminate: sum('indeterminate'),
    did_not_run: sum('notRun'),
    exceptions: sum('exceptions'),
    wrong: wrong.length,
  })}\n`,
);
if (wrong.length === 0) rmSync(folder, { recursive: true, force: true });
else {
  writeFileSync(join(folder, 'wrong.txt'), wrong.join('\n'));
  process.stdout.write(
    `The folders of failed trials are kept in ${folder}; wrong.txt there lists all problems.\n`,
  );
}
process.exitCode = stopped ? 130 : wrong.length > 0 ? 1 : 0;

function compile(): string {
  const compiler = process.env['CC'] ?? 'cc';
  const target = join(folder, 'faults.so');
  try {
    execFileSync(
      compiler,
      [
        '-shared',
        '-fPIC',
        '-O2',
        '-Wall',
        '-Wextra',
        '-o',
        target,
        join(import.meta.dirname, 'faults.c'),
        '-ldl',
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    return target;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return fail(
      isMissing
        ? `There is no C compiler: "${compiler}" was not found. Install one (e.g. gcc) or name it with CC. Nothing was tried.`
        : 'bench/faults/faults.c could not be compiled. Nothing was tried.',
    );
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
