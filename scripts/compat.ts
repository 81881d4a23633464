/**
 * Runs the adapter suites on the oldest supported versions of the frameworks: `npm run compat`. The tests are copied
 * next to those versions, so that imports and child processes find them as usual.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const latest = join(root, 'test/frameworks');
const oldest = join(latest, 'oldest');
const copy = join(oldest, 'run');
/** The file that tests import from their parent folder. */
const shared = 'model-api-name.ts';

const node = (...args: readonly string[]): number =>
  spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;

let status = node('scripts/frameworks.ts', 'test/frameworks/oldest');
if (status === 0) {
  rmSync(copy, { recursive: true, force: true });
  try {
    // Tests of conformance, pages and types do not depend on the version. deepagents and the clients of AG-UI have one
    // version here. What frameworks call a structured answer changed between versions.
    for (const file of globSync(['suite/**', 'harnesses/**', 'harnesses.ts', '*.test.ts'], {
      cwd: latest,
      withFileTypes: true,
    }))
      if (
        file.isFile() &&
        !/conformance|examples|pages|matrix\.|deepagents|structured-answers|ag-ui-clients/.test(file.name)
      ) {
        const path = join(file.parentPath, file.name);
        cpSync(path, join(copy, path.slice(latest.length)));
      }
    cpSync(join(latest, '..', shared), join(oldest, shared));
    status = node(
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      'vitest.compat.config.ts',
      ...process.argv.slice(2),
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
    rmSync(join(oldest, shared), { force: true });
  }
}
process.exitCode = status;
