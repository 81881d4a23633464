import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

interface Locked {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}

const frameworks = [
  'test/frameworks/package-lock.json',
  'test/frameworks/oldest/package-lock.json',
  'site/package-lock.json',
];

function lockedBy(file: string): [path: string, Locked][] {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
  // Written by npm; only the fields named above are read.
  return Object.entries((JSON.parse(text) as { packages: Record<string, Locked> }).packages);
}

describe.for(['package-lock.json', ...frameworks])('%s', (file) => {
  const locked = lockedBy(file);
  const paths = new Set(locked.map(([path]) => path));

  // npm locks only the platform binaries that the registry answered for, and `npm ci` then fails on the others.
  // When this fails, pin the parent to a version whose binaries are all published ("overrides" for an indirect one).
  test('lists every platform binary of every tool', () => {
    const missing = locked.flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => !paths.has(`node_modules/${name}`) && !paths.has(`${path}/node_modules/${name}`))
        .map((name) => `${path} -> ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('names no registry, so that it installs from the configured one', () => {
    const named = locked.filter(([, { link, resolved }]) => resolved !== undefined && link !== true);
    expect(named).toEqual([]);
  });
});

/** Packages with scripts that are never run: `scripts/frameworks.ts` installs without scripts. */
const silenced = ['@google/genai', 'protobufjs', 'esbuild', 'fsevents'];

test.for(frameworks)('%s runs nothing during installation', (file) => {
  const scripts = lockedBy(file).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  const names = scripts.map(([path]) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  expect(names.filter((name) => !silenced.includes(name))).toEqual([]);
});

test('the frameworks are installed without scripts', () => {
  const program = readFileSync(new URL('../scripts/frameworks.ts', import.meta.url), 'utf8');
  expect(program).toContain("'--ignore-scripts'");
});
