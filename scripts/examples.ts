/**
 * Runs every numbered program in examples/ on the built package, as a reader would, one process each.
 * `npm test` runs the same programs as tests, on the package that it has just built.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
if (!existsSync(join(root, 'packages/quittance/dist/index.js'))) {
  console.error('There is no packages/quittance/dist/index.js. Build it first: npm run build');
  process.exit(2);
}
const examples = globSync('examples/[0-9]*.ts', { cwd: root }).toSorted();
let failures = 0;
for (const example of examples) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [example], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  console.log(`${status === 0 ? 'ok    ' : 'failed'} ${example}`);
  if (status === 0) continue;
  failures += 1;
  console.error(`${stdout}${stderr}`);
}
console.log(`${examples.length - failures} of ${examples.length} examples ran.`);
process.exitCode = failures > 0 ? 1 : 0;
