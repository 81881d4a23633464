/**
 * Installs the agent frameworks for the adapter tests: `node scripts/frameworks.ts [FOLDER]`. They have a separate
 * lock file, so that only testers download them. Does nothing if the installed versions match the lock file.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isInstalled, markInstalled } from './installed-frameworks.ts';

const root = join(import.meta.dirname, '..');
const folder = resolve(root, process.argv[2] ?? 'test/frameworks');
const modules = join(folder, 'node_modules');
const link = join(modules, 'quittance');

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
if (!existsSync(join(link, 'package.json'))) {
  // Tests there import this package by its name, as users do.
  rmSync(link, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  symlinkSync(root, link, 'junction');
}
if (!isThere) markInstalled(folder);
