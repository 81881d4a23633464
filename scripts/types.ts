/**
 * Checks the types of every project in the repository, two at a time: `npm run types [-- PROJECT…]`. Unchanged
 * projects are skipped: the compiler stores its state in the cache folder of node_modules. In `npm test` the linter
 * checks the types, because it needs them anyway. From here it takes the declarations only.
 *
 * The native compiler (TypeScript 7) checks the types: it takes a third of the time. It has no stable programming
 * interface yet, so scripts and tests that read the syntax tree import `typescript` (version 6).
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(import.meta.dirname, '..');
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-native/package.json')));

/** The longest first, so that none runs alone at the end. */
const all = [
  'tsconfig.json',
  'test/console',
  'test/frameworks',
  'test/react',
  'packages/console',
  'tsconfig.src.json',
  'packages/react',
];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((project) => !all.includes(project));
if (unknown.length > 0) {
  console.error(`No project named ${unknown.join(', ')}. Known projects: ${all.join(', ')}.`);
  process.exit(2);
}
const projects = chosen.length === 0 ? all : chosen;

/** Its files also belong to the first project, so only its declarations are left to check. */
const declarations = 'tsconfig.src.json';

function run(...args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function check(project: string): Promise<number> {
  const memory = join(root, 'node_modules/.cache/types', `${project.replaceAll('/', '.')}.tsbuildinfo`);
  const options = project === declarations ? ['--noCheck'] : [];
  return run(tsc, '-p', project, '--pretty', '--incremental', '--tsBuildInfoFile', memory, ...options);
}

let failed = 0;
const waiting = projects.values();
const work = async (): Promise<void> => {
  for (const project of waiting) if ((await check(project)) !== 0) failed++;
};
await Promise.all([work(), work()]);
if (failed > 0) {
  console.error(`${failed} of ${projects.length} projects have type errors.`);
  process.exitCode = 1;
}
