/**
 * Installs the agent frameworks for the adapter tests: `node scripts/frameworks.ts [FOLDER]`. They have a separate
 * lock file, so that only testers download them. Does nothing if the installed versions match the lock file.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isInstalled, markInstalled } from './installed-frameworks.ts';

const root = join(import.meta.dirname, '..');
const folder = resolve(root, process.argv[2] ?? 'test/frameworks');

const isThere = isInstalled(folder);
if (!isThere) {
  console.error(`Installing the frameworks of ${folder}. This takes a minute, once.`);
  const { status } = spawnSync(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (status !== 0) {
    console.error(
      `The frameworks could not be installed. To install them manually: cd ${folder} && npm ci --ignore-scripts`,
    );
    process.exit(1);
  }
}
// Tests there import these packages by their names, as users do.
for (const name of ['quittance', '@quittance']) {
  const [link, target] = [join(folder, 'node_modules', name), join(root, 'node_modules', name)];
  if (existsSync(link) && realpathSync(link) === realpathSync(target)) continue;
  rmSync(link, { recursive: true, force: true });
  symlinkSync(target, link, 'junction');
}
if (!isThere) markInstalled(folder);
