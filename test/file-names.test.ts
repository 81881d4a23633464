import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Exported } from './exported-names.ts';
import { exportsOf, readNamedSources, wordsOf } from './exported-names.ts';

const sources = readNamedSources();
const isDoor = (path: string): boolean => /^src\/[^/]+\.ts$|\/index\.ts$/.test(path);
const baseOf = (path: string): string => basename(path).replace(/\.tsx?$/, '');

/** Files that are not named after an export, and why. */
const otherwiseNamed: Readonly<Record<string, string>> = {
  'src/cli/main.ts': 'the program: it exports nothing',
  'src/sandbox/sandbox-relay.ts': 'a program that runs inside the sandbox: it exports nothing',
  'console/src/main.tsx': 'the program: it exports nothing',
  'console/src/api/client.ts': 'the requests of the console: get, send and their addresses',
  'src/ledger/own-entry.ts': 'the three kinds of entries that the ledger writes itself',
  'src/call/events/attempt-event.ts': 'the events of one attempt',
  'src/runtime/state/call-stages.ts': 'what is known of a call after each stage',
  'src/store/postgres/pg-driver.ts': 'the driver package, behind one file',
  'src/http/api/scalar.ts': 'the single values of the API: ids, names, times',
  'src/policy/sandbox/resource-text.ts': 'small questions about a text that may name a resource',
};

/** Names that several files export, because each framework or store has its own version. */
const sharedNames: Readonly<Record<string, string>> = {
  governTools: 'one for each framework, behind a door of its own',
  sendProbe: 'one for each framework: the call that proves the adapter safe',
  rebuildSideTables: 'one for each store with tables',
};

/** "decode" and "decoding", "tool" and "tools". */
function isSameWord(one: string, other: string): boolean {
  let common = 0;
  while (common < one.length && one[common] === other[common]) common++;
  return one === other || `${one}s` === other || `${other}s` === one
    ? true
    : common >= Math.max(4, Math.min(one.length, other.length) - 1);
}

/** A file is named after an export: each word of its name is in the export's name, or in its folder's. */
function isNamedAfter(path: string, { name }: Exported): boolean {
  const known = [...wordsOf(name), ...wordsOf(dirname(path))];
  return wordsOf(baseOf(path)).every((word) => known.some((other) => isSameWord(word, other)));
}

describe('a file', () => {
  test('is named after what it exports', () => {
    const wrong = sources
      .filter(({ path }) => !isDoor(path) && !Object.hasOwn(otherwiseNamed, path))
      .map((source) => ({ path: source.path, exported: exportsOf(source) }))
      .filter(({ path, exported }) => !exported.some((each) => isNamedAfter(path, each)))
      .map(({ path, exported }) => `${path} exports ${exported.map(({ name }) => name).join(', ')}`);
    expect(wrong).toEqual([]);
  });

  test('is in the list of exceptions only if it exists and needs to be', () => {
    const unneeded = Object.keys(otherwiseNamed).filter((path) => {
      const source = sources.find((each) => each.path === path);
      return source === undefined || exportsOf(source).some((each) => isNamedAfter(path, each));
    });
    expect(unneeded).toEqual([]);
  });
});

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
