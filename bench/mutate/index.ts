/**
 * Changes the source in small ways and sees whether a test notices:
 *
 *   npm run mutate -- [--seed 1] [--count 200] [--only src/call/refuse.ts] [--since main] [--key text] [--seconds 120]
 *     [--jobs 1] [--fresh] [--list]
 *
 * Exit code 1 if fewer than 95 of 100 mutations that are not equivalent are killed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from '../table.ts';
import { createTypeCheck, rememberChecks } from './check-types.ts';
import { draw } from './draw.ts';
import { readKnown } from './known.ts';
import type { Mutation } from './mutations.ts';
import { applyMutation, makeMutations } from './mutations.ts';
import type { ReachingTest } from './reach.ts';
import { hashOf, measureReach } from './reach.ts';
import { endGroup, runTests } from './run-tests.ts';
import type { Scratch } from './scratch.ts';
import { makeScratch } from './scratch.ts';
import { findTargets } from './targets.ts';
import type { Basis, Verdict } from './verdict.ts';
import { isKill, openVerdicts } from './verdict.ts';

const root = join(import.meta.dirname, '../..');
const cache = join(root, 'node_modules/.cache/mutate');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    only: { type: 'string', multiple: true },
    since: { type: 'string' },
    key: { type: 'string', default: '' },
    seconds: { type: 'string', default: '120' },
    jobs: { type: 'string', default: '1' },
    fresh: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const [seed, count, mostMs] = [Number(values.seed), Number(values.count), Number(values.seconds) * 1_000];
const goal = 0.95;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Never mutated: what the others are compared with. Each job has a copy of its own to change. */
const scratch = makeScratch(root);
const copies = [scratch];
const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) endGroup(pid);
  for (const copy of copies) copy.remove();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const targets = chooseTargets();
const areaOf = new Map(targets.map(({ area, path }) => [path, area]));
const all = targets
  .flatMap(({ path }) => makeMutations(path, scratch.read(path)))
  .filter(({ key }) => key.includes(values.key));
const types = rememberChecks(
  createTypeCheck(
    root,
    targets.map(({ path }) => path),
  ),
  join(cache, 'types.json'),
  hashOf,
);
const { mutations, refused } = draw(all, {
  seed,
  count,
  check: types.check,
  read: (path) => scratch.read(path),
});
types.save();
say(
  `${mutations.length} mutations from seed ${seed}, of ${all.length} in ${targets.length} files; ${refused} more were drawn that do not compile`,
);
if (values.list) {
  for (const { key } of mutations) say(key);
  process.exit(0);
}

// A timeout counts as a kill, so more jobs than cores would count mutations that no test noticed.
const most = availableParallelism();
if (Number(values.jobs) > most)
  process.stderr.write(
    `At most ${most} jobs at a time here: a timeout on a busy machine looks like a kill.\n`,
  );
const workers = Array.from({ length: Math.min(most, Math.max(1, Number(values.jobs))) }, () =>
  makeScratch(root),
);
copies.push(...workers);
const reach = await measureReach(scratch, workers, join(cache, 'reach.json'), {
  fresh: values.fresh,
  say,
  running,
});
for (const test of reach.red) say(`Left out, because it fails without a mutation: ${test}`);

const verdicts = openVerdicts(join(cache, 'verdicts.json'));
const known = new Map(readKnown().map((one) => [one.key, one]));
const keys = new Set(all.map(({ key }) => key));
for (const { key } of known.values())
  if (values.key === '' && areaOf.has(key.split('#')[0] ?? '') && !keys.has(key))
    say(`Known, but made no more: ${key}`);

/** Tests that killed a mutation of the file before; they are the likeliest to do so again. */
const kills = new Map<string, Map<string, number>>();
type Ended = { readonly mutation: Mutation; verdict: Verdict | { readonly type: 'equivalent' } };
const ended: Ended[] = [];
const waiting = mutations.values();
await Promise.all(workers.map(work));
await doubtKills();
report();

function chooseTargets(): { readonly area: string; readonly path: string }[] {
  const known = findTargets(root);
  const named =
    values.since === undefined
      ? values.only
      : execFileSync('git', ['diff', '--name-only', '--diff-filter=d', values.since, '--', 'src'], {
          cwd: root,
          encoding: 'utf8',
        })
          .split('\n')
          .filter((path) => path.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(path));
  if (named === undefined) return known;
  return named.map((path) => known.find((target) => target.path === path) ?? { area: 'other', path });
}

async function work(copy: Scratch): Promise<void> {
  for (const mutation of waiting) {
    const isEquivalent = known.get(mutation.key)?.as === 'equivalent';
    const verdict = isEquivalent ? ({ type: 'equivalent' } as const) : await judge(copy, mutation);
    ended.push({ mutation, verdict });
    if (verdict.type === 'killed') {
      const here = kills.get(mutation.path) ?? new Map<string, number>();
      here.set(verdict.test, (here.get(verdict.test) ?? 0) + 1);
      kills.set(mutation.path, here);
    }
    const how = verdict.type === 'killed' ? `${verdict.test}: ${verdict.title}` : '';
    say(
      `${String(ended.length).padStart(4)}/${mutations.length} ${verdict.type.padEnd(10)} ${mutation.path}:${mutation.line} ${mutation.kind} ${how}`,
    );
  }
}

/** A kill proves nothing where the test fails without a mutation too: every test that killed runs once more. */
async function doubtKills(): Promise<void> {
  const killers = new Set(ended.flatMap(({ verdict }) => (verdict.type === 'killed' ? verdict.test : [])));
  const tests = [...killers].filter((test) => existsSync(join(scratch.root, test)));
  say(`Running the ${tests.length} test files that killed once more, without a mutation`);
  for (const test of await failing(await failing(tests)))
    for (const each of ended)
      if (each.verdict.type === 'killed' && each.verdict.test === test)
        each.verdict = { type: 'doubtful', test };
}

/** Those of the tests that fail. */
async function failing(tests: readonly string[]): Promise<string[]> {
  if (tests.length === 0) return [];
  const ran = await runTests(scratch.root, { tests, timeoutMs: 1_800_000, all: true, running });
  if (ran === 'timeout' || 'broken' in ran) return [...tests];
  return ran.files.filter(({ failure }) => failure !== undefined).map(({ test }) => test);
}

/** The tests beside the file first, then those near it, those that killed before, and the quickest. */
function orderTests(path: string, tests: readonly ReachingTest[]): ReachingTest[] {
  const here = kills.get(path);
  const rank = ({ test, ms }: ReachingTest): number =>
    (distance(path, test) * (ms + 500)) / (1 + 4 * (here?.get(test) ?? 0));
  return tests.toSorted((a, b) => rank(a) - rank(b));
}

/** How far a test is from a file: beside it, named after a part of it, in its folder, about a promise, elsewhere. */
function distance(path: string, test: string): number {
  if (test === path.replace(/\.ts$/, '.test.ts')) return 0.05;
  const words = basename(path, '.ts').split('-');
  if (words.some((word) => word.length > 3 && basename(test).includes(word))) return 0.1;
  if (dirname(test) === dirname(path)) return 0.2;
  return test.startsWith('test/') || test.startsWith(`${dirname(path)}/`) ? 0.6 : 2;
}

async function judge(copy: Scratch, mutation: Mutation): Promise<Verdict> {
  const { path, start, key } = mutation;
  const text = scratch.read(path);
  const reaching = reach.testsAt(path, start);
  const basis: Basis = {
    source: hashOf(text),
    tests: hashOf([mostMs, ...reaching.map(({ test }) => test + hashOf(scratch.read(test)))].join('\n')),
    hashOfTest: (test) => (existsSync(join(scratch.root, test)) ? hashOf(scratch.read(test)) : undefined),
  };
  const before = verdicts.find(key, basis);
  if (before !== undefined) return before;
  let total = 0;
  const tests = orderTests(path, reaching).filter(({ ms }) => (total += ms) <= mostMs || total === ms);
  const verdict: Verdict =
    tests.length === 0 ? { type: 'unreached' } : await run(copy, mutation, tests, reaching.length);
  verdicts.keep(key, basis, verdict);
  return verdict;
}

async function run(
  copy: Scratch,
  mutation: Mutation,
  tests: readonly ReachingTest[],
  reaching: number,
): Promise<Verdict> {
  const timeoutMs = 60_000 + 4 * tests.reduce((sum, { ms }) => sum + ms, 0);
  const text = scratch.read(mutation.path);
  copy.write(mutation.path, applyMutation(text, mutation));
  const ran = await runTests(copy.root, { tests: tests.map(({ test }) => test), timeoutMs, running });
  copy.write(mutation.path, text);
  if (ran === 'timeout') return { type: 'timeout' };
  if ('broken' in ran)
    return { type: 'killed', test: '(the run)', title: 'did not end', message: ran.broken };
  if (ran.passed) return { type: 'survived', tests: tests.length, reaching };
  const failed = ran.files.find(({ failure }) => failure !== undefined);
  if (failed?.failure?.message.includes('timed out') === true) {
    // On a busy machine a test may be too slow without any mutation. Then the others decide.
    const alone = await runTests(copy.root, { tests: [failed.test], timeoutMs, running });
    if (alone === 'timeout' || 'broken' in alone || !alone.passed) {
      const others = tests.filter(({ test }) => test !== failed.test);
      return others.length === 0
        ? { type: 'doubtful', test: failed.test }
        : run(copy, mutation, others, reaching);
    }
  }
  return {
    type: 'killed',
    test: failed?.test ?? '(the run)',
    title: failed?.failure?.title ?? 'an error outside of all tests',
    message: failed?.failure?.message ?? ran.unhandled ?? '',
  };
}

function report(): void {
  const rows = targets.map(({ area, path }) => {
    const here = ended.filter(({ mutation }) => mutation.path === path).map(({ verdict }) => verdict);
    const killed = here.filter((verdict) => verdict.type !== 'equivalent' && isKill(verdict)).length;
    const equivalent = here.filter(({ type }) => type === 'equivalent').length;
    return {
      area,
      path,
      drawn: here.length,
      killed,
      equivalent,
      survived: here.length - killed - equivalent,
    };
  });
  say('');
  printTable(
    ['area', 'file', 'drawn', 'killed', 'equivalent', 'survived'],
    rows
      .filter(({ drawn }) => drawn > 0)
      .map(({ area, path, ...numbers }) => [area, path, ...Object.values(numbers).map(String)]),
  );
  for (const { mutation, verdict } of ended) {
    if (verdict.type !== 'equivalent' && isKill(verdict)) continue;
    const { key, path, line, original, replacement } = mutation;
    const detail =
      verdict.type === 'survived'
        ? ` (${verdict.tests} of ${verdict.reaching} test files that reach it)`
        : '';
    say(`${verdict.type}${detail}: ${path}:${line}`);
    say(`  key ${JSON.stringify(key)}`);
    for (const one of original.split('\n')) say(`  - ${one.trim()}`);
    for (const one of replacement.split('\n')) say(`  + ${one.trim()}`);
    const reason = known.get(key)?.reason;
    if (reason !== undefined) say(`  reason: ${reason}`);
    say('');
  }
  const sum = (pick: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + pick(row), 0);
  const [killed, equivalent] = [sum((row) => row.killed), sum((row) => row.equivalent)];
  const share = mutations.length === equivalent ? 1 : killed / (mutations.length - equivalent);
  say(
    JSON.stringify({
      mutate: 'source',
      seed,
      drawn: mutations.length,
      refused_by_compiler: refused,
      killed,
      timeouts: ended.filter(({ verdict }) => verdict.type === 'timeout').length,
      equivalent,
      survived: sum((row) => row.survived),
      unreached: ended.filter(({ verdict }) => verdict.type === 'unreached').length,
      killed_share: Number(share.toFixed(3)),
    }),
  );
  process.exitCode = share >= goal ? 0 : 1;
}
