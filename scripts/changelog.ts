/**
 * Tells a contributor that the changelog needs a line: `npm run changelog [BASE]`, part of `npm run lint`. It compares
 * the branch with the main branch, uncommitted changes included. It fails if a file changed that describes what users
 * see, such as the exported names, and "Unreleased" has no new entry. A commit with the line `Changelog: none` in its
 * message says that no entry is needed.
 *
 * Why not changesets: all packages have one version, and the changelog is written for readers, under topics that people edit.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasNewEntry, visibleChanges } from './release/visible-changes.ts';

const root = join(import.meta.dirname, '..');
const changelog = 'CHANGELOG.md';
const base = findBase(process.argv[2]);
if (base !== undefined) check(base);

function check(since: string): void {
  const paths = git('diff', '--name-only', since).split('\n').filter(Boolean);
  const changed = visibleChanges(
    paths.map((path) => ({ path, before: textAt(since, path), after: textNow(path) })),
  );
  if (changed.length === 0 || /^Changelog: none$/m.test(git('log', '--format=%B', `${since}..HEAD`))) return;
  if (hasNewEntry(textAt(since, changelog), textNow(changelog))) return;
  console.error(`Users can see that this branch changes ${changed.join(', ')}.`);
  console.error(
    `Add a line to ${changelog} under "Unreleased". If no user is affected, put "Changelog: none" on a`,
  );
  console.error('line of its own in a commit message.');
  process.exitCode = 1;
}

/** The commit at which the branch left the main branch. Undefined without a repository or a main branch. */
function findBase(given: string | undefined): string | undefined {
  for (const name of given === undefined ? ['origin/main', 'main'] : [given]) {
    try {
      return git('merge-base', name, 'HEAD').trim();
    } catch {
      continue; // Not a branch here: try the next name.
    }
  }
  if (given !== undefined) throw new Error(`There is no commit "${given}" to compare with.`);
  return undefined;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function textAt(commit: string, path: string): string {
  try {
    return git('show', `${commit}:${path}`);
  } catch {
    return ''; // The file is new.
  }
}

function textNow(path: string): string {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '';
}
