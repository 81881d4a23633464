import { expect, test } from 'vitest';
import lockfile from '../package-lock.json' with { type: 'json' };

interface Locked {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}

const locked = Object.entries(lockfile.packages as Record<string, Locked>);
const paths = new Set(locked.map(([path]) => path));

// npm locks only the platform binaries that the registry answered for, and `npm ci` then fails on the others.
// When this fails, pin the parent to a version whose binaries are all published ("overrides" for an indirect one).
test('the lock file lists every platform binary of every tool', () => {
  const missing = locked.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !paths.has(`node_modules/${name}`) && !paths.has(`${path}/node_modules/${name}`))
      .map((name) => `${path} -> ${name}`),
  );
  expect(missing).toEqual([]);
});

test('the lock file names no registry, so that it installs from whichever one is configured', () => {
  const named = locked.filter(([, { link, resolved }]) => resolved !== undefined && link !== true);
  expect(named).toEqual([]);
});
