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

/** The folder of the build, for tests that open it. */
export const consoleFolderName = 'QUITTANCE_TEST_CONSOLE';

const root = join(import.meta.dirname, '../..');

export default async function setup(): Promise<() => void> {
  // Every project with a browser calls this.
  if (process.env[consoleFolderName] !== undefined) return () => undefined;
  // Unpacked once, before workers start: two at the same time would find a half-written file.
  process.env[browserPathName] = await unpackBrowser(
    join(root, `node_modules/.cache/chromium-${browserVersion()}`),
  );
  if (isPackageBuilt()) {
    process.env[consoleFolderName] = join(root, 'packages/server/dist/console');
    return () => undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'quittance-console-build-'));
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const args = [
    'build',
    '-c',
    'packages/console/vite.config.ts',
    '--outDir',
    folder,
    '--emptyOutDir',
    '--logLevel',
    'error',
  ];
  // In a separate process: this one would bundle React’s test build, which is slow.
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)(process.execPath, [vite, ...args], { cwd: root, env });
  process.env[consoleFolderName] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function browserVersion(): string {
  const manifest = join(root, 'node_modules/@sparticuz/chromium/package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
