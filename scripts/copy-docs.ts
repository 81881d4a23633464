/** Copies the handbook into the package of the core, so that people and their agents have it offline. Part of the build. */
import { cpSync, rmSync } from 'node:fs';
import { basename, extname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const target = join(root, 'packages/quittance/docs');

/** These are about the code and the tests of the repository. */
const leftOut: ReadonlySet<string> = new Set([
  'adapter-matrix.md',
  'decisions',
  'deviations.md',
  'images',
  'ledger-internals.md',
  'mutation.md',
  'names.md',
  'postgres-internals.md',
]);

rmSync(target, { recursive: true, force: true });
cpSync(join(root, 'docs'), target, {
  recursive: true,
  filter: (path) => !leftOut.has(basename(path)) && ['', '.md', '.txt'].includes(extname(path)),
});
