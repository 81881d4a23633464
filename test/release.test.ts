import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { releaseEntries, unreleasedEntries } from '../scripts/release/changelog-text.ts';
import { checkVersion, publishProblems } from '../scripts/release/release-checks.ts';
import { root } from './sources.ts';

const changelog = `# Changelog

## Unreleased

### Added

- One thing
  on two lines.

### Changed

- Another thing.

## 0.1.0 (2026-01-01)

- The first release.
`;

describe('the changelog', () => {
  test('lists its unreleased entries, without those of earlier releases', () => {
    expect(unreleasedEntries(changelog)).toEqual(['One thing on two lines.', 'Another thing.']);
    expect(() => unreleasedEntries('# Changelog\n')).toThrow('no heading "## Unreleased"');
  });

  test('is released once: the entries move under the version', () => {
    const after = releaseEntries(changelog, '0.2.0', '2026-02-02');
    expect(after).toContain('## Unreleased\n\n## 0.2.0 (2026-02-02)\n\n### Added\n\n- One thing');
    expect(unreleasedEntries(after)).toEqual([]);
    expect(() => releaseEntries(after, '0.3.0', '2026-03-03')).toThrow('nothing to release');
  });

  test('the changelog of this repository can be read', () => {
    expect(unreleasedEntries(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))).not.toContain('');
  });
});

describe('a release', () => {
  test.each(['0.1.1', '0.2.0', '1.0.0'])('may go from 0.1.0 to %s', (next) => {
    expect(() => checkVersion('0.1.0', next, changelog)).not.toThrow();
  });

  test.each(['0.1.0', '0.0.9', '0.3.0', '2.0.0', '0.2', 'v0.2.0', '0.2.0-rc.1'])(
    'may not go from 0.1.0 to %s',
    (next) => {
      expect(() => checkVersion('0.1.0', next, changelog)).toThrow('does not follow 0.1.0');
    },
  );

  test('may have the current version if that was never released', () => {
    expect(() => checkVersion('0.1.0', '0.1.0', '## Unreleased\n')).not.toThrow();
  });

  test('is published only with a repository, a tag and a closed changelog', () => {
    const closed = '# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-01)\n\n- First.\n';
    expect(publishProblems({ version: '0.1.0', repository: 'x' }, ['v0.1.0'], [], closed)).toEqual([]);
    expect(publishProblems({ version: '0.1.0' }, [], ['More.'], '# Changelog\n')).toEqual([
      expect.stringContaining('repository'),
      expect.stringContaining('tag v0.1.0'),
      expect.stringContaining('section'),
      expect.stringContaining('Unreleased'),
    ]);
  });
});

describe('npm run changelog and npm run release, in a repository', () => {
  let folder = '';
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test', ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
  const run = (script: string, ...args: readonly string[]): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [join(folder, script), ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const commit = (message: string): string => git('commit', '--quiet', '--all', '--message', message);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quittance-release-'));
    for (const path of ['changelog.ts', 'packages.ts', 'release.ts', 'release'].map(
      (name) => `scripts/${name}`,
    ))
      cpSync(join(root, path), join(folder, path), { recursive: true });
    mkdirSync(join(folder, 'test'));
    mkdirSync(join(folder, 'src'));
    write('test/doors.txt', 'quittance\n');
    write('src/a.ts', '');
    write('CHANGELOG.md', changelog);
    const manifest = (text: object): string => `${JSON.stringify({ version: '0.1.0', ...text }, null, 2)}\n`;
    const dependencies = { a: '0.1.0', quittance: '0.1.0' };
    write('package.json', manifest({ type: 'module', dependencies: { a: '0.1.0' } }));
    mkdirSync(join(folder, 'packages/cli'), { recursive: true });
    write('packages/cli/package.json', manifest({ name: '@quittance/cli', dependencies }));
    const packages = {
      '': { version: '0.1.0' },
      'node_modules/a': { version: '0.1.0' },
      'packages/cli': { version: '0.1.0', dependencies },
    };
    write('package-lock.json', manifest({ packages }));
    git('init', '--quiet', '--initial-branch=main');
    git('add', '.');
    commit('Begin');
    git('checkout', '--quiet', '-b', 'work');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('a change that users cannot see needs no entry', () => {
    write('src/a.ts', 'export {};\n');
    const manifest = 'packages/cli/package.json';
    write(manifest, readFileSync(join(folder, manifest), 'utf8').replace('{\n', '{\n  "private": true,\n'));
    expect(run('scripts/changelog.ts')).toMatchObject({ status: 0, stderr: '' });
  });

  test.each([
    ['test/doors.txt', 'quittance\nnewName\n', 'the exported names (test/doors.txt)'],
    ['packages/cli/package.json', '{ "version": "0.1.0", "engines": {} }\n', '`engines`'],
  ])('a changed %s needs one', (path, text, named) => {
    write(path, text);
    const missing = run('scripts/changelog.ts');
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain(named);
    commit('Change it');
    expect(run('scripts/changelog.ts').status).toBe(1);
    write('CHANGELOG.md', changelog.replace('- One thing', '- A new name.\n- One thing'));
    expect(run('scripts/changelog.ts').status).toBe(0);
  });

  test('a commit can say that no entry is needed', () => {
    write('test/doors.txt', 'quittance\nnewName\n');
    commit('Rename a type that is not released yet\n\nChangelog: none');
    expect(run('scripts/changelog.ts').status).toBe(0);
  });

  test('a release sets the version of the packages only, and is prepared on a clean tree only', () => {
    write('src/a.ts', 'export {};\n');
    expect(run('scripts/release.ts', '0.2.0')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Commit') as string,
    });
    commit('Change it');
    expect(run('scripts/release.ts', '0.2.0').status).toBe(0);
    expect(git('diff', '--stat=200', '--', 'package.json', 'package-lock.json', 'packages')).toContain(
      '7 insertions(+), 7 deletions(-)',
    );
    const dependencies = { a: '0.1.0', quittance: '0.2.0' };
    expect(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))).toMatchObject({
      version: '0.2.0',
      packages: {
        '': { version: '0.2.0' },
        'node_modules/a': { version: '0.1.0' },
        'packages/cli': { version: '0.2.0', dependencies },
      },
    });
    expect(run('scripts/release.ts', '--publish')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Not published') as string,
    });
  });
});
