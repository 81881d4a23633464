import { describe, expect, test } from 'vitest';
import { breaches } from './layering.ts';
import { parseSource, readSources } from './sources.ts';

test('src keeps the architecture stated in test/layering.ts', () => {
  const sources = readSources();
  expect(sources.length).toBeGreaterThan(0);
  const found = breaches(sources);
  expect(found, `\n\n${found.join('\n\n')}\n`).toEqual([]);
});

/** Small trees that each break one rule, so that a rule that no longer works is noticed. */
function breachesOf(files: Record<string, string>): string[] {
  return breaches(Object.entries(files).map(([path, text]) => parseSource(path, text)));
}

describe('the architecture refuses', () => {
  test.each([
    ['an upward import', `import { run } from '../runtime/run.ts';`],
    ['an upward type import', `import type { Run } from '../runtime/run.ts';`],
    ['an upward inline type import', `export type Run = import('../runtime/run.ts').Run;`],
    ['an upward dynamic import', `export const load = () => import('../runtime/run.ts');`],
    ['an upward re-export', `export { run } from '../runtime/run.ts';`],
    ['an upward star re-export', `export * from '../runtime/run.ts';`],
  ])('%s', (_, text) => {
    expect(breachesOf({ 'src/call/call.ts': text, 'src/runtime/run.ts': '' })).toEqual([
      expect.stringContaining('src/call/call.ts:1 imports src/runtime/run.ts: "call" is below "runtime"'),
    ]);
  });

  test('two stores, or two edges, that import each other', () => {
    expect(
      breachesOf({
        'src/store/memory/a.ts': `import '../sqlite/b.ts';`,
        'src/store/sqlite/b.ts': '',
        'src/http/c.ts': `import '../react/d.tsx';`,
        'src/react/d.tsx': '',
      }),
    ).toEqual([
      expect.stringContaining('"store/memory" and "store/sqlite" stand side by side'),
      expect.stringContaining('"http" and "react" stand side by side'),
    ]);
  });

  test('importing a door from inside', () => {
    expect(breachesOf({ 'src/cli/a.ts': `import '../index.ts';`, 'src/index.ts': '' })).toEqual([
      expect.stringContaining('imports the door src/index.ts'),
    ]);
  });

  test('importing the package by its own name', () => {
    expect(breachesOf({ 'src/cli/a.ts': `import { x } from 'quittance/testing';` })).toEqual([
      expect.stringContaining('imports the package by its own name'),
    ]);
  });

  test('an index.ts that is not a door', () => {
    expect(breachesOf({ 'src/policy/limits/index.ts': '' })).toEqual([
      expect.stringContaining('src/policy/limits/index.ts: an index.ts is allowed only at a door'),
    ]);
  });

  test('importing an unpublished module', () => {
    expect(breachesOf({ 'src/cli/a.ts': `import '../../test/layering.ts';` })).toEqual([
      expect.stringContaining('imports test/layering.ts, outside src/'),
    ]);
  });

  test('an import without the .ts extension, which Node cannot run', () => {
    expect(breachesOf({ 'src/base/a.ts': `import './b';`, 'src/base/b.ts': '' })).toEqual([
      expect.stringContaining('without its file extension'),
    ]);
  });

  test('a folder without a place in the order', () => {
    expect(breachesOf({ 'src/utils/a.ts': '', 'src/lib/a.ts': '' })).toEqual([
      expect.stringContaining('"utils" has no place'),
      expect.stringContaining('"lib" has no place'),
    ]);
  });

  test('a cycle inside one folder, even of types', () => {
    expect(
      breachesOf({
        'src/base/a.ts': `import type { B } from './b.ts';`,
        'src/base/b.ts': `import type { C } from './c.ts';`,
        'src/base/c.ts': `import type { A } from './a.ts';`,
      }),
    ).toEqual([expect.stringContaining('src/base/a.ts -> src/base/b.ts -> src/base/c.ts -> src/base/a.ts')]);
  });

  test('I/O in a pure folder', () => {
    expect(
      breachesOf({
        'src/ledger/a.ts': `import 'node:crypto';\nimport { readFile } from 'node:fs/promises';`,
      }),
    ).toEqual([expect.stringContaining('src/ledger/a.ts:2 imports node:fs/promises: "ledger" is pure')]);
  });

  test.each([
    'export const env = process.env;',
    'export const env = globalThis.process.env;',
    'export const isNode = typeof process === "object";',
    'export const { env } = process;',
    `import { env } from 'node:process';`,
  ])('reading the process outside the CLI: %s', (text) => {
    expect(breachesOf({ 'src/runtime/a.ts': text })).toEqual([expect.stringContaining('Only src/cli may')]);
    expect(breachesOf({ 'src/cli/a.ts': text })).toEqual([]);
  });

  test.each(['let count = 0;', 'var count = 0;', 'export let count = 0;'])('module state: %s', (text) => {
    expect(breachesOf({ 'src/cli/a.ts': text })).toEqual([
      expect.stringContaining('src/cli/a.ts:1 declares module-level state'),
    ]);
  });

  test.each([
    '// @ts-ignore',
    '// @ts-nocheck',
    '/* oxlint-disable */',
    '// eslint-disable-next-line',
    '// oxlint-disable-next-line import/no-cycle -- later',
    '// eslint-disable-line no-restricted-imports',
  ])('switching the check off: %s', (text) => {
    expect(breachesOf({ 'src/cli/a.ts': text })).toHaveLength(1);
  });

  test('ending a thread from outside', () => {
    expect(breachesOf({ 'src/cli/a.ts': 'await worker.terminate();' })).toEqual([
      expect.stringContaining('a thread ends by itself'),
    ]);
  });
});

test('the architecture allows doors, downward imports, members named process and constants', () => {
  expect(
    breachesOf({
      'src/index.ts': `export * from './runtime/run.ts';\nexport * from './base/json.ts';`,
      'src/store/memory/index.ts': `export * from './store.ts';`,
      'src/store/memory/store.ts': `import '../../runtime/run.ts';`,
      'src/runtime/run.ts': `import '../base/json.ts';\nimport 'node:fs';\nexport const a = { process: 1 }.process;`,
      'src/base/json.ts': `import 'node:util';\nexport const b = 1;\nexport function f() { let c = b; c += 1; return c; }`,
    }),
  ).toEqual([]);
});
