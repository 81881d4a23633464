import { describe, expect, test } from 'vitest';
import { breaches } from './layering.ts';
import { parseSource, readSources } from './sources.ts';

test('every package keeps the architecture stated in test/layering.ts', () => {
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
    expect(
      breachesOf({
        'packages/quittance/src/call/call.ts': text,
        'packages/quittance/src/runtime/run.ts': '',
      }),
    ).toEqual([
      expect.stringContaining(
        'packages/quittance/src/call/call.ts:1 imports packages/quittance/src/runtime/run.ts: "call" is below "runtime"',
      ),
    ]);
  });

  test('two stores that import each other', () => {
    expect(
      breachesOf({
        'packages/quittance/src/store/memory/a.ts': `import '../sqlite/b.ts';`,
        'packages/quittance/src/store/sqlite/b.ts': '',
      }),
    ).toEqual([expect.stringContaining('"store/memory" and "store/sqlite" stand side by side')]);
  });

  test('importing a package that package.json does not list', () => {
    const from = 'packages/quittance/src/runtime/a.ts';
    for (const name of ['@quittance/server', '@quittance/server/internal/http/listen', 'hono'])
      expect(breachesOf({ [from]: `import '${name}';` })).toEqual([
        expect.stringContaining('which packages/quittance/package.json does not list'),
      ]);
  });

  test('importing another package by its path', () => {
    expect(breachesOf({ 'packages/server/src/a.ts': `import '../../quittance/src/base/json.ts';` })).toEqual([
      expect.stringContaining('Import it as quittance'),
    ]);
  });

  test('importing a door from inside', () => {
    expect(breachesOf({ 'packages/quittance/src/runtime/a.ts': `import '../index.ts';` })).toEqual([
      expect.stringContaining('imports the door packages/quittance/src/index.ts'),
    ]);
  });

  test('importing the package by its own name', () => {
    expect(
      breachesOf({ 'packages/quittance/src/runtime/a.ts': `import { x } from 'quittance/testing';` }),
    ).toEqual([expect.stringContaining('imports the package by its own name')]);
  });

  test('an index.ts that is not a door', () => {
    expect(breachesOf({ 'packages/quittance/src/policy/limits/index.ts': '' })).toEqual([
      expect.stringContaining(
        'packages/quittance/src/policy/limits/index.ts: an index.ts is allowed only at a door',
      ),
    ]);
  });

  test('importing an unpublished module', () => {
    expect(breachesOf({ 'packages/cli/src/a.ts': `import '../../../test/layering.ts';` })).toEqual([
      expect.stringContaining('imports test/layering.ts, outside the packages'),
    ]);
  });

  test('an import without the .ts extension, which Node cannot run', () => {
    expect(
      breachesOf({
        'packages/quittance/src/base/a.ts': `import './b';`,
        'packages/quittance/src/base/b.ts': '',
      }),
    ).toEqual([expect.stringContaining('without its file extension')]);
  });

  test('a folder without a place in the order', () => {
    expect(
      breachesOf({ 'packages/quittance/src/utils/a.ts': '', 'packages/quittance/src/lib/a.ts': '' }),
    ).toEqual([
      expect.stringContaining('"utils" has no place'),
      expect.stringContaining('"lib" has no place'),
    ]);
  });

  test('a cycle inside one folder, even of types', () => {
    expect(
      breachesOf({
        'packages/quittance/src/base/a.ts': `import type { B } from './b.ts';`,
        'packages/quittance/src/base/b.ts': `import type { C } from './c.ts';`,
        'packages/quittance/src/base/c.ts': `import type { A } from './a.ts';`,
      }),
    ).toEqual([
      expect.stringContaining(
        'packages/quittance/src/base/a.ts -> packages/quittance/src/base/b.ts -> packages/quittance/src/base/c.ts -> packages/quittance/src/base/a.ts',
      ),
    ]);
  });

  test('I/O in a pure folder', () => {
    expect(
      breachesOf({
        'packages/quittance/src/ledger/a.ts': `import 'node:crypto';\nimport { readFile } from 'node:fs/promises';`,
      }),
    ).toEqual([
      expect.stringContaining(
        'packages/quittance/src/ledger/a.ts:2 imports node:fs/promises: "ledger" is pure',
      ),
    ]);
  });

  test.each([
    'export const env = process.env;',
    'export const env = globalThis.process.env;',
    'export const isNode = typeof process === "object";',
    'export const { env } = process;',
    `import { env } from 'node:process';`,
  ])('reading the process outside the CLI: %s', (text) => {
    expect(breachesOf({ 'packages/quittance/src/runtime/a.ts': text })).toEqual([
      expect.stringContaining('Only packages/cli may'),
    ]);
    expect(breachesOf({ 'packages/cli/src/a.ts': text })).toEqual([]);
  });

  test.each(['let count = 0;', 'var count = 0;', 'export let count = 0;'])('module state: %s', (text) => {
    expect(breachesOf({ 'packages/cli/src/a.ts': text })).toEqual([
      expect.stringContaining('packages/cli/src/a.ts:1 declares module-level state'),
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
    expect(breachesOf({ 'packages/cli/src/a.ts': text })).toHaveLength(1);
  });

  test('ending a thread from outside', () => {
    expect(breachesOf({ 'packages/cli/src/a.ts': 'await worker.terminate();' })).toEqual([
      expect.stringContaining('a thread ends by itself'),
    ]);
  });
});

test('the architecture allows doors, downward imports, members named process and constants', () => {
  expect(
    breachesOf({
      'packages/quittance/src/index.ts': `export * from './runtime/run.ts';\nexport * from './base/json.ts';`,
      'packages/quittance/src/store/memory/store.ts': `import '../../runtime/run.ts';`,
      'packages/quittance/src/runtime/run.ts': `import '../base/json.ts';\nimport 'node:fs';\nexport const a = { process: 1 }.process;`,
      'packages/quittance/src/base/json.ts': `import 'node:util';\nexport const b = 1;\nexport function f() { let c = b; c += 1; return c; }`,
    }),
  ).toEqual([]);
});
