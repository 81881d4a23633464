import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { consoleBudget, weighConsole } from '../../scripts/console-weight.ts';

test('the console weighs no more than its budget', async () => {
  const root = join(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'quittance-weight-'));
  try {
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
    // As it is published: a test of its own would bundle the React that is made for tests.
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, [vite, ...args], { cwd: root, env });
    const weight = weighConsole(folder);
    expect(weight.first).toBeGreaterThan(10_000);
    expect(weight.first).toBeLessThanOrEqual(consoleBudget.first);
    expect(weight.all).toBeLessThanOrEqual(consoleBudget.all);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
