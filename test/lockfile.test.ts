import { describe, expect, test } from 'vitest';
import root from '../package-lock.json' with { type: 'json' };
import frameworks from './frameworks/package-lock.json' with { type: 'json' };
import oldest from './frameworks/oldest/package-lock.json' with { type: 'json' };

interface Locked {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}

const lockfiles: Record<string, Record<string, Locked>> = {
  'package-lock.json': root.packages,
  'test/frameworks/package-lock.json': frameworks.packages,
  'test/frameworks/oldest/package-lock.json': oldest.packages,
};

describe.for(Object.entries(lockfiles))('%s', ([, packages]) => {
  const locked = Object.entries(packages);
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

  test('names no registry, so that it installs from whichever one is configured', () => {
    const named = locked.filter(([, { link, resolved }]) => resolved !== undefined && link !== true);
    expect(named).toEqual([]);
  });
});

test.for(['test/frameworks/package-lock.json', 'test/frameworks/oldest/package-lock.json'])(
  '%s has nothing that runs while it is installed',
  (file) => {
    const scripts = Object.entries(lockfiles[file] ?? {}).filter(
      ([, { hasInstallScript }]) => hasInstallScript === true,
    );
    expect(scripts.map(([path]) => path)).toEqual([]);
  },
);
