/**
 * Changes the source in small ways and sees whether a test notices:
 *
 *   npm run mutate -- [--seed 1] [--count 200] [--only packages/quittance/src/call/decide.ts] [--since main] [--key text] [--seconds 120]
 *     [--jobs 1] [--doubt] [--fresh] [--list]
 *
 * Exit code 1 if fewer than 95 of 100 mutations that are not equivalent are killed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createTypeCheck, rememberChecks } from './check-types.ts';
import type { Drawn } from './draw.ts';
import { draw } from './draw.ts';
import { createJudge } from './judge.ts';
import { readKnown } from './known.ts';
import type { Mutation } from './mutations.ts';
import { makeMutations } from './mutations.ts';
import { nearTests, orderTests } from './order-tests.ts';
import type { Reach } from './reach.ts';
import { findTests, hashOf, isMeasured, measureReach } from './reach.ts';
import type { Ended } from './report.ts';
import { report } from './report.ts';
import { endGroup } from './run-tests.ts';
import type { Scratch } from './scratch.ts';
import { makeScratch } from './scratch.ts';
import type { Target } from './targets.ts';
import { findTargets } from './targets.ts';
import type { Kill, Verdict } from './verdict.ts';
import { openVerdicts } from './verdict.ts';

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
    doubt: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const [seed, count, mostMs] = [Number(values.seed), Number(values.count), Number(values.seconds) * 1_000];
const goal = 0.95;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Never mutated: the reference. Each job has its own copy to change. */
const scratch = makeScratch(root);
const copies = [scratch];
const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) endGroup(pid);
  for (const copy of copies) copy.remove();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const targets = chooseTargets();
const all = targets
  .flatMap(({ path }) => makeMutations(path, scratch.read(path)))
  .filter(({ key }) => key.includes(values.key));
const { mutations, refused } = drawSound();
say(
  `${mutations.length} mutations from seed ${seed}, of ${all.length} in ${targets.length} files; ${refused} more were drawn that do not compile`,
);
if (values.list) {
  for (const { key } of mutations) say(key);
  process.exit(0);
}

// More jobs than cores would turn slow tests into timeouts, and each timeout needs two more runs to confirm.
const most = availableParallelism();
if (Number(values.jobs) > most) process.stderr.write(`At most ${most} jobs at a time on this machine.\n`);
const workers = Array.from({ length: Math.min(most, Math.max(1, Number(values.jobs))) }, () =>
  makeScratch(root),
);
copies.push(...workers);

const verdicts = openVerdicts(join(import.meta.dirname, 'verdicts.json'), join(cache, 'survivals.json'));
const known = new Map(readKnown().map((one) => [one.key, one]));
sayWhatIsMadeNoMore();

/** Tests that killed earlier mutations of a file; they are the most likely to do so again. */
const kills = new Map<string, Map<string, number>>();
for (const [key, kill] of verdicts.kills()) countKill(key.split('#')[0] ?? '', kill);
const judge = createJudge({ running });
const tests = findTests(scratch.root);
const reachFile = join(cache, 'reach.json');
const ended: Ended[] = [];
/** The state of mutations that no test has killed yet. */
const withoutKill = new Map<
  Mutation,
  {
    readonly passed: ReadonlySet<string>;
    readonly doubtful: Extract<Verdict, { type: 'doubtful' }> | undefined;
  }
>();

const first = mutations.filter((mutation) => !endAtOnce(mutation));
const quick = tests.filter((test) => test.startsWith('src/'));
const isKnown = (some: readonly string[]): boolean => !values.fresh && isMeasured(scratch, reachFile, some);
const nearFirst = !isKnown(quick);
let unsettled = await leftBy(first, killAgain);
// Tests next to the source are quick to measure. The others start processes, and most mutations never need them.
for (const some of isKnown(tests) ? [tests] : [quick, tests]) {
  if (unsettled.length === 0) break;
  const reach = await measureReach(scratch, workers, reachFile, {
    tests: some,
    fresh: values.fresh,
    say,
    running,
  });
  for (const test of reach.red) say(`Left out, because it fails without a mutation: ${test}`);
  const isLast = some === tests;
  unsettled = await leftBy(unsettled, (copy, mutation) => runReaching(copy, mutation, reach, isLast));
}
const share = report(ended, { targets, known, facts: { seed, refused_by_compiler: refused }, say });
process.exitCode = share >= goal ? 0 : 1;

function chooseTargets(): Target[] {
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

/** In a separate function, so that the compiler's memory is released afterwards. */
function drawSound(): Drawn {
  const paths = targets.map(({ path }) => path);
  const types = rememberChecks(createTypeCheck(root, paths), join(cache, 'types.json'), hashOf);
  const drawn = draw(all, { seed, count, check: types.check, read: (path) => scratch.read(path) });
  types.save();
  return drawn;
}

function sayWhatIsMadeNoMore(): void {
  if (values.key !== '') return;
  const keys = new Set(all.map(({ key }) => key));
  const isGone = (key: string): boolean =>
    targets.some(({ path }) => key.startsWith(`${path}#`)) && !keys.has(key);
  for (const key of known.keys()) if (isGone(key)) say(`Known, but no longer made: ${key}`);
  for (const [key] of verdicts.kills()) if (isGone(key)) verdicts.forgetKill(key);
}

/** The mutations that `settle` leaves. */
async function leftBy(
  some: readonly Mutation[],
  settle: (copy: Scratch, mutation: Mutation) => Promise<boolean>,
): Promise<readonly Mutation[]> {
  const waiting = some.values();
  const left = new Set<Mutation>();
  await Promise.all(
    workers.map(async (copy) => {
      for (const mutation of waiting) if (!(await settle(copy, mutation))) left.add(mutation);
    }),
  );
  return some.filter((mutation) => left.has(mutation));
}

/** Known to be equivalent, or killed by an unchanged test of an unchanged source. */
function endAtOnce(mutation: Mutation): boolean {
  if (known.get(mutation.key)?.as === 'equivalent' && !values.doubt) {
    return end(mutation, { type: 'equivalent' });
  }
  const kept = verdicts.kill(mutation.key);
  if (values.fresh || kept === undefined) return false;
  if (kept.source !== hashAt(mutation.path) || kept.hash !== hashAt(kept.test)) return false;
  return end(mutation, { type: 'killed', test: kept.test, title: kept.title, by: kept.by });
}

/** Runs the test that killed it before. Unless the tests that reach the change are known, also runs the nearby ones. */
async function killAgain(copy: Scratch, mutation: Mutation): Promise<boolean> {
  const { path, key } = mutation;
  const before = verdicts.kill(key)?.test;
  const likely = new Set([
    ...(before !== undefined && tests.includes(before) ? [before] : []),
    ...(nearFirst ? nearTests(path, quick, kills.get(path)) : []),
  ]);
  if (likely.size === 0) return false;
  return runSome(copy, mutation, [...likely]);
}

/** True if one of the tests kills it. Other findings are recorded for the end. */
async function runSome(copy: Scratch, mutation: Mutation, some: readonly string[]): Promise<boolean> {
  const { passed, doubtful } = withoutKill.get(mutation) ?? {
    passed: new Set<string>(),
    doubtful: undefined,
  };
  const verdict = await judge(
    copy,
    mutation,
    some.filter((test) => !passed.has(test)),
  );
  if (verdict.type === 'killed') keepKill(mutation, verdict);
  else
    withoutKill.set(mutation, {
      passed: new Set([...passed, ...some]),
      doubtful: verdict.type === 'doubtful' ? verdict : doubtful,
    });
  return verdict.type === 'killed';
}

async function runReaching(
  copy: Scratch,
  mutation: Mutation,
  reach: Reach,
  isLast: boolean,
): Promise<boolean> {
  const { path, start, key } = mutation;
  const reaching = reach.testsAt(path, start);
  const basis = {
    source: hashAt(path) ?? '',
    tests: hashOf([mostMs, ...reaching.map(({ test }) => test + hashAt(test))].join('\n')),
  };
  const isEquivalent = known.get(key)?.as === 'equivalent';
  const before = values.fresh || !isLast ? undefined : verdicts.survival(key, basis);
  if (before !== undefined) return end(mutation, isEquivalent ? { type: 'equivalent' } : before);
  let total = 0;
  const some = orderTests(path, reaching, kills.get(path))
    .filter(({ ms }) => (total += ms) <= mostMs || total === ms)
    .map(({ test }) => test);
  if (await runSome(copy, mutation, some)) return true;
  if (!isLast) return false;
  const verdict =
    withoutKill.get(mutation)?.doubtful ??
    (some.length === 0
      ? ({ type: 'unreached' } as const)
      : ({ type: 'survived', tests: some.length, reaching: reaching.length } as const));
  verdicts.forgetKill(key);
  verdicts.keepSurvival(key, { ...basis, verdict });
  return end(mutation, isEquivalent ? { type: 'equivalent' } : verdict);
}

function keepKill(mutation: Mutation, kill: Kill): void {
  const [source, hash] = [hashAt(mutation.path), hashAt(kill.test)];
  if (source !== undefined && hash !== undefined) verdicts.keepKill(mutation.key, { ...kill, source, hash });
  countKill(mutation.path, kill);
  end(mutation, kill);
}

function countKill(path: string, { test }: Pick<Kill, 'test'>): void {
  const here = kills.get(path) ?? new Map<string, number>();
  here.set(test, (here.get(test) ?? 0) + 1);
  kills.set(path, here);
}

function end(mutation: Mutation, verdict: Ended['verdict']): true {
  ended.push({ mutation, verdict });
  const how = verdict.type === 'killed' ? `${verdict.test}: ${verdict.title}` : '';
  const { path, line, kind } = mutation;
  say(
    `${String(ended.length).padStart(4)}/${mutations.length} ${verdict.type.padEnd(10)} ${path}:${line} ${kind} ${how}`,
  );
  return true;
}

function hashAt(path: string): string | undefined {
  return existsSync(join(scratch.root, path)) ? hashOf(scratch.read(path)) : undefined;
}
