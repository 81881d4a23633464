/**
 * Packs the built package without writing it and prints its size. Fails if a file is missing, or does not belong in the
 * package. Part of `npm run package`.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { findContentProblems, listParts, type PackedPackage } from './package-content.ts';

const root = join(import.meta.dirname, '..');
const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
});
const [packed] = JSON.parse(listing) as readonly PackedPackage[]; // documented by npm
if (packed === undefined) throw new Error('npm packed nothing.');

console.log(`${packed.size} bytes packed, ${packed.unpackedSize} unpacked, ${packed.files.length} files`);
console.log(listParts(packed).join('\n'));
const problems = findContentProblems(packed);
if (problems.length > 0) {
  console.error(['The package must not be published in this state.', ...problems.slice(0, 20)].join('\n  '));
  process.exitCode = 1;
}
