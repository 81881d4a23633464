/**
 * Builds the console once for all tests that open it, as it is published. Vitest calls this before they run. If
 * `npm test` has just built the console, that build is used.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isPackageBuilt } from '../frameworks/suite/package-arguments.ts';
import { browserPathName, unpackBrowser } from '../browser.ts';

/** Where it was built, for those who open it. */
export const consoleFolderName = 'QUITTANCE_TEST_CONSOLE';

const root = join(import.meta.dirname, '../..');

export default async function setup(): Promise<() => void> {
  // Unpacked once, before workers start: two that unpack at the same time find a file that is being written.
  process.env[browserPathName] = await unpackBrowser(
    join(root, `node_modules/.cache/chromium-${browserVersion()}`),
  );
  if (isPackageBuilt()) {
    process.env[consoleFolderName] = join(root, 'dist/console');
    return () => undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'quittance-console-build-'));
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const args = [
    'build',
    '-c',
    'console/vite.config.ts',
    '--outDir',
    folder,
    '--emptyOutDir',
    '--logLevel',
    'error',
  ];
  // In a process of its own: here the React that is made for tests would be bundled, which is slow.
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)(process.execPath, [vite, ...args], { cwd: root, env });
  process.env[consoleFolderName] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function browserVersion(): string {
  const manifest = join(root, 'node_modules/@sparticuz/chromium/package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
