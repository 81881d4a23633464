import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { findWeightProblems, packageBudget, type PackedPackage } from '../scripts/package-weight.ts';
import { root } from './sources.ts';

const holding = (...more: readonly string[]): PackedPackage => ({
  size: packageBudget.packed - 1,
  unpackedSize: packageBudget.unpacked - 1,
  files: [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/react.d.ts',
    'dist/cli.js',
    'dist/console/index.html',
    'docs/getting-started.md',
    'schema/contracts.schema.json',
    'src/react/react.css',
    'templates/coding-agent.yaml',
    ...more,
  ].map((path) => ({ path, size: 1 })),
});

test('a package within its budget may be published', () => {
  expect(findWeightProblems(holding())).toEqual([]);
});

test('the budget is 1.375 MiB packed and 4 MiB unpacked', () => {
  expect(findWeightProblems({ ...holding(), size: 1_441_792 })).toEqual([
    'It is 1441792 bytes packed, and must stay under 1441792. Ship less: `npm run measure:package` lists the heaviest parts.',
  ]);
  expect(findWeightProblems({ ...holding(), unpackedSize: 4_194_304 })).toHaveLength(1);
});

test.each([
  'dist/index.js.map',
  'dist/index.d.ts.map',
  'docs/images/console-call-dark.png',
  'dist/console/assets/inter.woff2',
  'src/index.ts',
  'src/base/json.test.ts',
])('%s must not be in the package', (path) => {
  expect(findWeightProblems(holding(path)).length).toBeGreaterThan(0);
});

test('a package that was not built may not be published', () => {
  expect(findWeightProblems({ ...holding(), files: [] })).toContain(
    'dist/index.js is missing. Build first: npm run build',
  );
});

test('package.json ships the text of the handbook, and no source except the style sheet', () => {
  expect(manifest.files.filter((pattern) => pattern.startsWith('src'))).toEqual(['src/react/react.css']);
  expect(manifest.exports['./react.css']).toBe('./src/react/react.css');
  const [left, kept] = [true, false].map((isLeft) =>
    manifest.files.filter((pattern) => /^!?docs/.test(pattern) && pattern.startsWith('!') === isLeft),
  );
  const packed = globSync(kept ?? [], {
    cwd: root,
    exclude: (left ?? []).map((pattern) => pattern.slice(1)),
  }).map((path) => path.split(sep).join('/').replace('docs/', ''));
  const list = readFileSync(join(root, 'docs/llms.txt'), 'utf8');
  const missing = [...list.matchAll(/^- \[.+?\]\((\S+?)\): (.*)$/gm)].filter(
    ([, page = '']) => !packed.includes(page),
  );
  expect(packed.length).toBeGreaterThan(80);
  // These are about the code and the tests of the repository.
  expect(missing.map(([, page = '']) => page).toSorted()).toEqual([
    'adapter-matrix.md',
    'ledger-internals.md',
    'postgres-internals.md',
  ]);
  for (const [line] of missing) expect(line).toContain('Not in the package: ');
});
