/**
 * Prepares and publishes a release. docs/versioning.md describes the steps.
 *
 * `npm run release -- 0.2.0` sets the version and closes "Unreleased" of the changelog.
 * `npm run release -- --dry-run` packs what would be published, without network.
 * `npm run release -- --publish` publishes with provenance; the workflow of the repository runs it for a tag.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { releaseEntries, unreleasedEntries } from './release/changelog-text.ts';
import { readPackages } from './packages.ts';
import { checkVersion, publishProblems, type Manifest } from './release/release-checks.ts';
import { lockedWithVersion, withVersion } from './release/set-version.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, publish: { type: 'boolean', default: false } },
});
const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);

try {
  const [version] = positionals;
  if (values['dry-run']) pack();
  else if (values.publish) publish();
  else if (version !== undefined) prepare(version);
  else throw new Error('Say what to do: a version such as 0.2.0, --dry-run or --publish.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function prepare(version: string): void {
  const manifest = readManifest();
  checkVersion(manifest.version, version, read('CHANGELOG.md'));
  if (run('git', 'status', '--porcelain').trim() !== '')
    throw new Error('The working tree has changes. Commit them first.');
  write('CHANGELOG.md', releaseEntries(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10)));
  for (const path of ['package.json', ...readPackages().map(({ folder }) => `${folder}/package.json`)])
    write(path, withVersion(read(path), version));
  write('package-lock.json', lockedWithVersion(read('package-lock.json'), version));
  console.log(`Prepared ${version}. Look at the diff, run npm test, and then:`);
  console.log(`  git commit -am "Release ${version}" && git tag v${version} && git push --follow-tags`);
}

function pack(): void {
  const listing = run('npm', 'pack', '--workspaces', '--dry-run', '--json', '--offline');
  for (const packed of Object.values(JSON.parse(listing) as readonly Packed[]))
    console.log(
      `${packed.filename}: ${packed.entryCount} files, ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`,
    );
  for (const problem of problems()) console.log(`Missing before it can be published: ${problem}`);
}

type Packed = {
  readonly filename: string;
  readonly entryCount: number;
  readonly size: number;
  readonly unpackedSize: number;
};

function publish(): void {
  const found = problems();
  if (found.length > 0) throw new Error(`Not published.\n- ${found.join('\n- ')}`);
  execFileSync('npm', ['publish', '--workspaces', '--provenance', '--access', 'public'], {
    cwd: root,
    stdio: 'inherit',
  });
}

function problems(): string[] {
  const tags = run('git', 'tag', '--points-at', 'HEAD').split('\n').filter(Boolean);
  return publishProblems(readManifest(), tags, unreleasedEntries(read('CHANGELOG.md')), read('CHANGELOG.md'));
}

function readManifest(): Manifest {
  return JSON.parse(read('package.json')) as Manifest;
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
