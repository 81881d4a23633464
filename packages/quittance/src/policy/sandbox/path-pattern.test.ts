import { describe, expect, test } from 'vitest';
import { mayBeName, mayReach } from './path-pattern.ts';

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
    ['p/secret[[.s.]]', 'p/secrets', true],
    ['p/[!x]ecrets', 'p/secrets', true],
    ['p/+(secrets)', 'p/secrets', true],
    ['p/[id].tsx', 'p/q/secrets', false],
  ])('%s may reach %s: %s', (pattern, denied, expected) => {
    expect(mayReach(pattern.split('/'), denied.split('/'))).toBe(expected);
  });
});

test('names with different letters are the same', () => {
  for (const name of ['Secrets', 'secrets.', 'secrets ', 'SECRET~1'])
    expect(mayBeName(name, 'secrets')).toBe(true);
  expect(mayBeName('GIT~1', '.git')).toBe(true);
  for (const name of ['secrets2', 'HEAD~1', 'secret']) expect(mayBeName(name, 'secrets')).toBe(false);
});
