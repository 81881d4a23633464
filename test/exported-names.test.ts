import { describe, expect, test } from 'vitest';
import { exportsOf, readNamedSources } from './exported-names.ts';

const sources = readNamedSources();
/** Names that several files export, because each framework or store has its own version. */
const sharedNames: Readonly<Record<string, string>> = {
  governTools: 'one for each framework, behind a door of its own',
  sendProbe: 'one for each framework: the call that proves the adapter safe',
  toCallRow: 'one for each store with tables',
  toWordText: 'one for each store with tables',
  begin: 'one for each task of a work thread',
};

describe('an exported function', () => {
  const functions = new Map<string, Set<string>>();
  for (const { name, isFunction, path } of sources.flatMap(exportsOf))
    if (isFunction) functions.set(name, new Set(functions.get(name)).add(path));

  test('has a name of its own', () => {
    const twice = [...functions].filter(
      ([name, paths]) => paths.size > 1 && !Object.hasOwn(sharedNames, name),
    );
    expect(twice.map(([name, paths]) => `${name}: ${[...paths].join(', ')}`)).toEqual([]);
  });

  test('is in the list of shared names only if several files export it', () => {
    expect(Object.keys(sharedNames).filter((name) => (functions.get(name)?.size ?? 0) < 2)).toEqual([]);
  });
});
