import { expect, test } from 'vitest';
import { findContentProblems } from '../scripts/package-content.ts';
import { readPackages } from '../scripts/packages.ts';

const react = { name: '@quittance/react', doors: [{ name: '@quittance/react', source: '', built: 'index' }] };
const whole = [
  'README.md',
  'LICENSE',
  'dist/index.js',

  'dist/index.d.ts',
  'src/react.css',
];
const problemsOf = (...paths: readonly string[]): readonly string[] =>
  findContentProblems(react, { files: paths.map((path) => ({ path, size: 1 })) });

test('a package with its files and no others may be published', () => {
  expect(problemsOf(...whole)).toEqual([]);
});

test.each([
  'dist/console/assets/index.js.map',
  'docs/images/console-call-dark.png',
  'dist/console/assets/inter.woff2',
  'src/index.ts',
  'src/base/json.test.ts',
])('%s must not be in a package', (path) => {
  expect(problemsOf(...whole, path).length).toBeGreaterThan(0);
});

test('a package that was not built may not be published', () => {
  expect(problemsOf()).toContain('dist/index.js is missing. Build first: npm run build');
});

test('every published package has one version, and the version of each package it needs', () => {
  const packages = readPackages();
  const versions = new Map(packages.map(({ name, version }) => [name, version]));
  expect(new Set(versions.values()).size).toBe(1);
  const needed = packages.flatMap(({ name, manifest: { dependencies, peerDependencies } }) =>
    Object.entries({ ...dependencies, ...peerDependencies })
      .filter(([other]) => versions.has(other))
      .map(([other, range]) => ({ name, other, range })),
  );
  expect(needed.filter(({ other, range }) => range !== versions.get(other))).toEqual([]);
});

test('the core has at most five dependencies, and the packages form no cycle', () => {
  const packages = new Map(readPackages().map((each) => [each.name, each]));
  expect(Object.keys(packages.get('quittance')?.manifest.dependencies ?? {}).length).toBeLessThanOrEqual(5);
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): void => {
    expect([...trail, name].filter((each) => each === name)).toHaveLength(1);
    if (done.has(name)) return;
    for (const needed of Object.keys(packages.get(name)?.manifest.dependencies ?? {}))
      if (packages.has(needed)) visit(needed, [...trail, name]);
    done.add(name);
  };
  for (const name of packages.keys()) visit(name, []);
});
