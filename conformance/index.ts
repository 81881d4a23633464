/**
 * Runs the public conformance cases of the contract language below the folders that are named through the doors of the
 * built package: `npm run conformance -- DIR…`. Those about adapters are run through every adapter too, for which the
 * frameworks are installed.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findCases } from './find-cases.ts';
import { reportOn, runCases } from './run-cases.ts';
import type { Adapter } from './through-adapters.ts';
import { isAboutAdapters } from './through-adapters.ts';

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error('Name the folder that holds the cases: npm run conformance -- DIR');
  process.exit(2);
}
const found = folders.flatMap(findCases);
const { lines, ok } = reportOn(
  await runCases(found, found.some(isAboutAdapters) ? await installAdapters() : []),
);
console.log(lines.join('\n'));
// A framework may keep something open: nothing is waited for any more.
process.exit(ok ? 0 : 1);

/** Loaded only where they are needed: there is nothing to load before they are installed. */
async function installAdapters(): Promise<readonly Adapter[]> {
  const frameworks = join(import.meta.dirname, '../test/frameworks');
  const install = join(import.meta.dirname, '../scripts/frameworks.ts');
  const { status } = spawnSync(process.execPath, [install], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  // What is there needs the frameworks to be checked, and is checked with them.
  const listed = (await import(join(frameworks, 'adapters.ts'))) as {
    readonly loadAdapters: () => Promise<readonly Adapter[]>;
  };
  return listed.loadAdapters();
}
