/**
 * Everything that must pass before a change lands: `npm test`. As many steps as there are cores run at once. The tests
 * take the longest, and they often wait for timers and processes. So they start as soon as they can, and run next to the
 * other steps. If one of those fails, the tests are ended. Each step is a script of package.json and can be run alone.
 *
 * `npm test -- lint unused` runs only these steps; `npm test -- --keep-going` runs the tests to their end even if another
 * step failed. The last line is always `N passed, N failed`: it counts every test and every other step.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import type { Ended } from './run-script.ts';
import { builtPackageName } from '../test/frameworks/suite/package-arguments.ts';
import { installingName } from '../test/installing-name.ts';
import { removeLeftovers } from '../test/temp-folder.ts';
import { createRunner } from './run-script.ts';

type Script = keyof typeof manifest.scripts;
type Step = {
  readonly script: Script;
  readonly what: string;
  /** Steps that must have passed before this one starts. */
  readonly after: readonly Script[];
  readonly env?: Readonly<Record<string, string>>;
};

/**
 * For programs written in Go, as the type checker of the linter is. They collect garbage when their memory has grown
 * fivefold instead of twofold, and earlier if they use much of it. That saves a quarter of their work.
 */
const rareCollection = { GOGC: '400', GOMEMLIMIT: '4GiB' };

/** In the order in which they start. */
const steps: readonly Step[] = [
  { script: 'frameworks', what: 'the frameworks that adapters are tested with are installed', after: [] },
  { script: 'build:package', what: 'the package builds', after: [] },
  { script: 'format:check', what: 'the files are formatted', after: [] },
  { script: 'types:declarations', what: 'declarations can be written from each file alone', after: [] },
  {
    script: 'lint',
    what: 'the types match, type tests included, and the code follows the lint rules',
    after: ['frameworks'],
    env: rareCollection,
  },
  { script: 'unused', what: 'no file, export or dependency is unused', after: [] },
  {
    script: 'package',
    what: 'the packed package resolves and its types match its code',
    after: ['build:package'],
  },
  { script: 'test:run', what: 'the tests pass', after: ['build:package'] },
];
const tests: Script = 'test:run';

/** Every step starts many processes of Node, which share compiled modules. The tests use the same folder. */
const compileCache = join(import.meta.dirname, '../node_modules/.cache/compile');

const { positionals: only, values } = parseArgs({
  allowPositionals: true,
  options: { 'keep-going': { type: 'boolean', default: false } },
});
/** A step by its name, or by the word before the colon: `types` means `types:declarations`. */
const isNamed = (script: Script): boolean =>
  only.some((name) => script === name || script.startsWith(`${name}:`));
const unknown = only.filter(
  (name) => !steps.some(({ script }) => script === name || script.startsWith(`${name}:`)),
);
if (unknown.length > 0) {
  console.error(
    `No step named ${unknown.join(', ')}. Known steps: ${steps.map(({ script }) => script).join(', ')}.`,
  );
  process.exit(2);
}

const runner = createRunner();
const chosen = steps.filter(({ script }) => only.length === 0 || isNamed(script));
const running = new Map<Script, Promise<void>>();
const ended = new Map<Script, Ended>();
const startedAt = performance.now();
const waiting = new Set(chosen);
/** Another step failed, so the tests are ended before their end. */
let endsTests = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    console.error(`\n${signal}: ending what runs (${[...running.keys()].join(', ')}).`);
    void runner.endAll().then(() => {
      removeLeftovers();
      process.exit(130);
    });
  });

while (waiting.size > 0 || running.size > 0) {
  for (const step of waiting) {
    if (!canStart(step)) continue;
    waiting.delete(step);
    running.set(step.script, run(step));
  }
  // Nothing runs and nothing can start: the remaining steps wait for one that failed.
  if (running.size === 0) break;
  await Promise.race(running.values());
}
summarize();

function canStart({ script, after }: Step): boolean {
  const isChosen = (name: Script): boolean => chosen.some((step) => step.script === name);
  if (!after.every((name) => !isChosen(name) || ended.get(name)?.held === true)) return false;
  if (script === tests) return values['keep-going'] || [...ended.values()].every(({ held }) => held);
  const others = running.size - (running.has(tests) ? 1 : 0);
  return others < availableParallelism();
}

async function run({ script, what, env: own }: Step): Promise<void> {
  console.log(`→ ${script}: ${what}`);
  // Tests print their progress. The output of other steps matters only if they fail.
  const built = ended.get('build:package')?.held === true ? { [builtPackageName]: 'dist' } : {};
  const installing = running.has('frameworks') ? { [installingName]: 'yes' } : {};
  const env = { NODE_COMPILE_CACHE: compileCache, ...built, ...installing, ...own };
  const end = await runner.run(script, script === tests ? 'shown' : 'kept', env);
  running.delete(script);
  const isEndedHere = script === tests && endsTests;
  if (!isEndedHere) ended.set(script, end);
  const how = end.held ? 'ok' : isEndedHere ? 'ended, because another step failed,' : 'failed';
  console.log(`${end.held ? '✓' : '✗'} ${script}: ${how} in ${seconds(end.ms)}`);
  if (end.held || isEndedHere) return;
  console.error(`${end.output}\n${script} failed. Run it alone with: npm run ${script}\n`);
  if (script === tests || values['keep-going'] || !running.has(tests)) return;
  endsTests = true;
  await runner.end(tests);
}

function summarize(): void {
  let [passed, failed, skipped] = [0, 0, 0];
  console.log('');
  for (const { script, what } of chosen) {
    const end = ended.get(script);
    const mark = end === undefined ? '–' : end.held ? '✓' : '✗';
    const time = end === undefined ? 'not run' : seconds(end.ms);
    console.log(` ${mark} ${script.padEnd(18)}${time.padStart(9)}  ${what}`);
    if (end === undefined) continue;
    passed += end.counts?.passed ?? (end.held ? 1 : 0);
    failed += Math.max(end.counts?.failed ?? 0, end.held ? 0 : 1);
    skipped += end.counts?.skipped ?? 0;
  }
  console.log(` ${chosen.length} steps in ${seconds(performance.now() - startedAt)}`);
  for (const { counts } of ended.values())
    for (const failure of counts?.failures ?? []) console.log(` ✗ ${failure}`);
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 || ended.size < chosen.length ? 1 : 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
