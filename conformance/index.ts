/**
 * Runs the public conformance cases of the contract language through the entry points of the built package: `npm run
 * conformance -- DIR…`. Cases about adapters also run through every adapter, which installs the frameworks.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findCases } from './find-cases.ts';
import { reportOn, runCases } from './run-cases.ts';
import type { Adapter } from './through-adapters.ts';
import { isAboutAdapters } from './through-adapters.ts';

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error('Name the folder with the cases: npm run conformance -- DIR');
  process.exit(2);
}
const found = folders.flatMap(findCases);
const { lines, ok } = reportOn(
  await runCases(found, found.some(isAboutAdapters) ? await installAdapters() : []),
);
console.log(lines.join('\n'));
// Exits explicitly, because a framework may keep a handle open.
process.exit(ok ? 0 : 1);

/** Loaded only if needed: before the installation there is nothing to load. */
async function installAdapters(): Promise<readonly Adapter[]> {
  const frameworks = join(import.meta.dirname, '../test/frameworks');
  const install = join(import.meta.dirname, '../scripts/frameworks.ts');
  const { status } = spawnSync(process.execPath, [install], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  // This module needs the frameworks for its types, and is checked with them.
  const listed = (await import(join(frameworks, 'adapters.ts'))) as {
    readonly loadAdapters: () => Promise<readonly Adapter[]>;
  };
  return listed.loadAdapters();
}
