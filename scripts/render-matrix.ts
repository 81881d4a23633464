/**
 * Renders the adapter matrix from the harnesses of test/frameworks. They load the frameworks, so it fails if those
 * are not installed (`node scripts/frameworks.ts`). One of their tests compares the page with them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatText } from './format-text.ts';

const root = join(import.meta.dirname, '..');

export async function renderMatrix(): Promise<readonly (readonly [path: string, text: string])[]> {
  const folder = join(root, 'test/frameworks');
  if (!existsSync(join(folder, 'node_modules/.installed'))) return [];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--conditions=quittance-source', join(folder, 'print-matrix.ts')],
    { encoding: 'utf8', cwd: root },
  );
  if (status !== 0) throw new Error(`The adapter matrix could not be rendered: ${stderr}`);
  const path = 'docs/adapter-matrix.md';
  return [[path, await formatText(path, stdout)]];
}
