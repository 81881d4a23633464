import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { findContentProblems, type PackedPackage } from '../scripts/package-content.ts';
import { root } from './sources.ts';

const holding = (...more: readonly string[]): PackedPackage => ({
  size: 1,
  unpackedSize: 1,
  files: [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/react.d.ts',
    'dist/cli.js',
    'dist/console/index.html',
    'docs/getting-started.md',
    'packages/quittance/schema/contracts.schema.json',
    'packages/react/src/react.css',
    'packages/quittance/templates/coding-agent.yaml',
    ...more,
  ].map((path) => ({ path, size: 1 })),
});

test('a package with its files and no others may be published', () => {
  expect(findContentProblems(holding())).toEqual([]);
});

test.each([
  'dist/console/assets/index.js.map',
  'docs/images/console-call-dark.png',
  'dist/console/assets/inter.woff2',
  'packages/quittance/src/index.ts',
  'packages/quittance/src/base/json.test.ts',
])('%s must not be in the package', (path) => {
  expect(findContentProblems(holding(path)).length).toBeGreaterThan(0);
});

test('a package that was not built may not be published', () => {
  expect(findContentProblems({ ...holding(), files: [] })).toContain(
    'dist/index.js is missing. Build first: npm run build',
  );
});

test('package.json ships the text of the handbook, and no source except the style sheet', () => {
  expect(manifest.files.filter((pattern) => pattern.startsWith('src'))).toEqual([
    'packages/react/src/react.css',
  ]);
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
