/** Orders tests by how likely they notice a change of a file. */
import { basename, dirname } from 'node:path';
import type { ReachingTest } from './reach.ts';

/** How often a test killed a mutation of the file. */
export type KillsHere = ReadonlyMap<string, number>;

/** Tests that killed before and nearby tests first; among those, the quickest. */
export function orderTests(
  path: string,
  tests: readonly ReachingTest[],
  kills: KillsHere | undefined,
): ReachingTest[] {
  const rank = ({ test, ms }: ReachingTest): number =>
    (distance(path, test) * (ms + 500)) / (1 + 4 * (kills?.get(test) ?? 0));
  return tests.toSorted((a, b) => rank(a) - rank(b));
}

/** Tests worth running before the reach is measured. */
export function nearTests(path: string, tests: readonly string[], kills: KillsHere | undefined): string[] {
  const before = [...(kills ?? [])]
    .toSorted(([, a], [, b]) => b - a)
    .map(([test]) => test)
    .filter((test) => tests.includes(test))
    .slice(0, 4);
  const near = tests
    .map((test) => ({ test, far: distance(path, test) }))
    .filter(({ far }) => far <= 0.1)
    .toSorted((a, b) => a.far - b.far)
    .map(({ test }) => test)
    .slice(0, 4);
  return [...new Set([...near.slice(0, 1), ...before, ...near])];
}

/**
 * Distance of a test from a source file: its own test, named after a part of it, in its folder, about a promise,
 * elsewhere.
 */
function distance(path: string, test: string): number {
  if (test === path.replace(/\.ts$/, '.test.ts')) return 0.05;
  const words = basename(path, '.ts').split('-');
  if (words.some((word) => word.length > 3 && basename(test).includes(word))) return 0.1;
  if (dirname(test) === dirname(path)) return 0.2;
  return test.startsWith('test/') || test.startsWith(`${dirname(path)}/`) ? 0.6 : 2;
}
