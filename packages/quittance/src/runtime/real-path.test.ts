import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { realPath } from './own-files.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'real-path-')));
afterAll(() => {
  rmSync(root, { recursive: true });
});
mkdirSync(join(root, 'project/deep'), { recursive: true });
mkdirSync(join(root, 'outside'));
writeFileSync(join(root, 'outside/file'), '');
symlinkSync(join(root, 'outside'), join(root, 'project/link'));
symlinkSync('../outside/missing', join(root, 'project/dangling'));
symlinkSync('loop', join(root, 'project/loop'));
symlinkSync('dangling', join(root, 'project/twice'));

describe('where a path leads', () => {
  test.each([
    ['project/deep', 'project/deep'],
    ['project/link/file', 'outside/file'],
    ['project/link/new/file', 'outside/new/file'],
    ['project/new/file', 'project/new/file'],
    ['project/dangling', 'outside/missing'],
    ['project/dangling/x', 'outside/missing/x'],
    ['project/twice', 'outside/missing'],
    ['project/loop/x', 'project/loop/x'],
  ])('%s leads to %s', (path, real) => {
    expect(realPath(join(root, path))).toBe(join(root, real));
  });

  test('returns a path unchanged if the file system cannot handle it', () => {
    for (const path of ['relative', '', '/\0', `/${'a'.repeat(10_000)}`, '/'.repeat(10_000)])
      expect(typeof realPath(path)).toBe('string');
    const long = join(root, 'project/link', ...Array.from({ length: 5000 }, () => 'x'));
    expect(realPath(long).startsWith(join(root, 'outside/x'))).toBe(true);
  });
});
