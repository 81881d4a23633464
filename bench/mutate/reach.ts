/**
 * Records which tests reach which blocks of the source, measured with probes and cached between runs. Tests are
 * measured again when their file changes. If a source file has changed, every test that ran any of it counts as
 * reaching all of it.
 */
import { createHash } from 'node:crypto';
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { addProbes, blockAt, moduleBlock } from './probes.ts';
import { runTests } from './run-tests.ts';
import type { Scratch } from './scratch.ts';

type Measured = {
  readonly hash: string;
  readonly ms: number;
  /** Does it pass on the unchanged source? */
  readonly green: boolean;
  readonly reached: Readonly<Record<string, { readonly source: string; readonly blocks: readonly number[] }>>;
};

type Measurements = Readonly<Record<string, Measured>>;

export type ReachingTest = { readonly test: string; readonly ms: number };

export type Reach = {
  /** Tests that run the code at a place. */
  testsAt(path: string, place: number): ReachingTest[];
  /** Tests that fail without any mutation, and so prove nothing. */
  readonly red: readonly string[];
};

export const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 16);

/** Is the reach of all these tests known? */
export const isMeasured = (scratch: Scratch, cacheFile: string, tests: readonly string[]): boolean =>
  lookUp(scratch, tests, readCache(cacheFile)).missing.length === 0;

function lookUp(
  scratch: Scratch,
  tests: readonly string[],
  kept: Measurements,
): {
  readonly hashes: ReadonlyMap<string, string>;
  readonly known: readonly (readonly [test: string, measured: Measured])[];
  readonly missing: readonly string[];
} {
  const hashes = new Map(tests.map((test) => [test, hashOf(scratch.read(test))]));
  const known = Object.entries(kept).filter(([test, { hash }]) => hashes.get(test) === hash);
  const have = new Set(known.map(([test]) => test));
  return { hashes, known, missing: tests.filter((test) => !have.has(test)) };
}

/** Measures the unknown ones. `copies` are changed for it and restored; `scratch` is only read. */
export async function measureReach(
  scratch: Scratch,
  copies: readonly Scratch[],
  cacheFile: string,
  {
    tests,
    fresh,
    say,
    running,
  }: {
    readonly tests: readonly string[];
    readonly fresh: boolean;
    readonly say: (line: string) => void;
    readonly running: Set<number>;
  },
): Promise<Reach> {
  const kept = readCache(cacheFile);
  const { hashes, known, missing } = lookUp(scratch, tests, fresh ? {} : kept);
  if (missing.length > 0) say(`Measuring what ${missing.length} of ${tests.length} test files reach`);
  let measured: Measurements = Object.fromEntries(known);
  mkdirSync(dirname(cacheFile), { recursive: true });
  // A few at a time, so that an interrupted run loses little.
  const parts = Array.from({ length: Math.ceil(missing.length / filesAtOnce) }, (_, part) =>
    missing.slice(part * filesAtOnce, (part + 1) * filesAtOnce),
  ).values();
  let done = 0;
  const work = async (copy: Scratch): Promise<void> => {
    for (const some of parts) {
      const found = await measure(copy, some, hashes, running);
      measured = { ...measured, ...found };
      writeFileSync(cacheFile, JSON.stringify({ ...kept, ...measured }));
      done += some.length;
      say(`  ${done} of ${missing.length}`);
    }
  };
  await Promise.all(copies.map(work));
  return {
    testsAt(path, place) {
      const text = scratch.read(path);
      const source = hashOf(text);
      const block = blockAt(path, text, place) ?? moduleBlock;
      return Object.entries(measured)
        .filter(([test, { green, reached }]) => {
          const here = reached[path];
          // Tests of the command line start many processes. They test the printed output.
          if (test.startsWith('packages/cli/src/') && !path.startsWith('packages/cli/src/')) return false;
          if (!green || here === undefined) return false;
          if (block === moduleBlock || here.source === source) return here.blocks.includes(block);
          return here.blocks.some((number) => number !== moduleBlock);
        })
        .map(([test, { ms }]) => ({ test, ms }));
    },
    red: Object.entries(measured)
      .filter(([, { green }]) => !green)
      .map(([test]) => test),
  };
}

const filesAtOnce = 6;

/** Tests of documents, examples and the repository itself. They are slow, and their subject is not the mutated code. */
const leftOut =
  /^test\/(frameworks|console|react|golden)\/|^test\/(attacks|conformance|demo|docs|doors|examples|first-minutes|handbook|layering|lockfile|mutate|names|readme|templates|threat-model)\b/;

/** The tests of the project `core`, except those that are left out. */
export const findTests = (root: string): string[] =>
  globSync('{src,test}/**/*.test.ts', { cwd: root, exclude: (path) => path.includes('node_modules') })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !leftOut.test(path))
    .toSorted();

const findSources = (root: string): string[] =>
  globSync('src/**/*.ts', { cwd: root })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !/\.test(-d)?\.ts$/.test(path));

function readCache(file: string): Measurements {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Measurements;
  } catch {
    return {};
  }
}

async function measure(
  scratch: Scratch,
  tests: readonly string[],
  hashes: ReadonlyMap<string, string>,
  running: Set<number>,
): Promise<Measurements> {
  const log = join(scratch.root, 'mutate-reached.log');
  writeFileSync(log, '');
  chmodSync(log, 0o666); // some tests run programs as another user
  const sources = new Map(findSources(scratch.root).map((path) => [path, scratch.read(path)]));
  for (const [path, text] of sources) scratch.write(path, addProbes(path, text, log));
  const probed = await runTests(scratch.root, { tests, log, silentMs: 1_800_000, all: true, running });
  for (const [path, text] of sources) scratch.write(path, text);
  if ('stopped' in probed) throw new Error(`The tests could not be measured: ${probed.said}`);
  // Probes change the source, which some tests read; a test that fails with them runs again without.
  const red = new Set(probed.files.filter(({ failure }) => failure !== undefined).map(({ test }) => test));
  for (const test of red) {
    const again = await runTests(scratch.root, { tests: [test], silentMs: 600_000, running });
    if ('passed' in again && again.passed) red.delete(test);
  }
  const sourceHashes = new Map([...sources].map(([path, text]) => [path, hashOf(text)]));
  const reached = readLog(readFileSync(log, 'utf8'));
  return Object.fromEntries(
    probed.files.map(({ test, ms }): [string, Measured] => [
      test,
      {
        hash: hashes.get(test) ?? '',
        ms,
        green: !red.has(test),
        reached: Object.fromEntries(
          [...(reached.get(test) ?? [])].map(([path, blocks]) => [
            path,
            { source: sourceHashes.get(path) ?? '', blocks: [...blocks] },
          ]),
        ),
      },
    ]),
  );
}

function readLog(log: string): Map<string, Map<string, Set<number>>> {
  const reached = new Map<string, Map<string, Set<number>>>();
  let current = new Map<string, Set<number>>();
  for (const line of log.split('\n')) {
    if (line.startsWith('# ')) {
      const test = line.slice(2);
      current = reached.get(test) ?? new Map<string, Set<number>>();
      reached.set(test, current);
      continue;
    }
    const [path, block] = line.split('\t');
    if (path === undefined || block === undefined) continue;
    const blocks = current.get(path) ?? new Set();
    blocks.add(Number(block));
    current.set(path, blocks);
  }
  return reached;
}
