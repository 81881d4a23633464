/**
 * Checks the types of every project in the repository, two at a time: `npm run types`. What was checked before and did
 * not change is not checked again: the compiler remembers it in the cache folder of node_modules.
 *
 * With `--install` the frameworks are installed meanwhile, and the project that needs them waits for that.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** The longest first, so that none is left over alone at the end. */
const projects = [
  'tsconfig.json',
  'test/console',
  'test/frameworks',
  'tsconfig.src.json',
  'test/react',
  'console',
  'src/react',
];

function run(...args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

const installed = process.argv.includes('--install') ? run('scripts/frameworks.ts') : Promise.resolve(0);

async function check(project: string): Promise<number> {
  if (project === 'test/frameworks' && (await installed) !== 0) return 1;
  const memory = join(root, 'node_modules/.cache/types', `${project.replaceAll('/', '.')}.tsbuildinfo`);
  return run(tsc, '-p', project, '--pretty', '--incremental', '--tsBuildInfoFile', memory);
}

let failed = 0;
const waiting = projects.values();
const work = async (): Promise<void> => {
  for (const project of waiting) if ((await check(project)) !== 0) failed++;
};
await Promise.all([work(), work()]);
if (failed > 0) {
  console.error(`${failed} of ${projects.length} projects have errors in their types.`);
  process.exitCode = 1;
}
