import { expect, test } from 'vitest';
import { importsOf, readSources } from '../sources.ts';

test('code that runs in a page needs no Node, neither directly nor indirectly, nor for its types', () => {
  const sources = new Map(readSources().map((source) => [source.path, source]));
  const reached = new Set(['packages/react/src/index.ts']);
  const packages = new Set<string>();
  for (const path of reached) {
    const source = sources.get(path);
    if (source === undefined) throw new Error(`${path} does not exist.`);
    for (const { to, isFile } of importsOf(source)) (isFile ? reached : packages).add(to);
  }
  expect([...packages].toSorted()).toEqual(['react']);
});
