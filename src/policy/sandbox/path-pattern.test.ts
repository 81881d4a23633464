import { describe, expect, test } from 'vitest';
import { findLinks, mayBeName, mayReach } from './path-pattern.ts';
import type { FolderEntry, PolicyWorld } from '../language/policy-call.ts';

const world = (folders: Readonly<Record<string, readonly FolderEntry[]>>): PolicyWorld => ({
  environment: 'production',
  env: () => undefined,
  realPath: (path) => path,
  listFolder: (path) => folders[path],
  workingDirectory: undefined,
  homeDirectory: undefined,
  selectors: {},
  operators: {},
});

describe('a pattern', () => {
  test.each([
    ['p/sec*', 'p/secrets', true],
    ['p/sec*/k', 'p/secrets', true],
    ['p/*', 'p/secrets', true],
    ['p/**/k', 'p/a/secrets', true],
    ['p/*.ts', 'p/secrets', false],
    ['p/src/*', 'p/secrets', false],
    ['p/*', 'p/.env', false],
    ['p/**/*.ts', 'p/.git', false],
    ['p/.*', 'p/.env', true],
    ['p/?env', 'p/.env', true],
    ['p/a*', 'p/a/secrets', false],
    ['p/SECRETS/k', 'p/secrets', true],
  ])('%s may reach %s: %s', (pattern, denied, expected) => {
    expect(mayReach(pattern.split('/'), denied.split('/'))).toBe(expected);
  });

  test('matches links and reports each of them', () => {
    const here = world({
      '/p': [
        { name: 'src', kind: 'folder' },
        { name: 'link', kind: 'link' },
        { name: '.hidden', kind: 'link' },
      ],
      '/p/src': [{ name: 'deep.ts', kind: 'link' }],
    });
    expect(findLinks('/p', ['*'], here)).toEqual(['/p/link']);
    expect(new Set(findLinks('/p', ['**', '*.ts'], here))).toEqual(new Set(['/p/link', '/p/src/deep.ts']));
    expect(findLinks('/p', ['s*'], here)).toEqual([]);
    expect(findLinks('/p', ['*'], { ...here, listFolder: undefined })).toBeUndefined();
  });

  test('is not expanded if it needs too many folders', () => {
    const many = Array.from({ length: 6000 }, (_, index): FolderEntry => ({
      name: `f${index}`,
      kind: 'file',
    }));
    expect(findLinks('/p', ['*'], world({ '/p': many }))).toBeUndefined();
  });
});

test('names with different letters are the same', () => {
  for (const name of ['Secrets', 'secrets.', 'secrets ', 'SECRET~1'])
    expect(mayBeName(name, 'secrets')).toBe(true);
  expect(mayBeName('GIT~1', '.git')).toBe(true);
  for (const name of ['secrets2', 'HEAD~1', 'secret']) expect(mayBeName(name, 'secrets')).toBe(false);
});
