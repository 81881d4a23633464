import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './sources.ts';

const page = readFileSync(join(root, 'docs/threat-model.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| (?:can|cannot)\b/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()));

test('every attacker of the threat model has something they can do and something they cannot', () => {
  const attackers = page.split(/^### /m).slice(1);
  expect(attackers).toHaveLength(9);
  for (const attacker of attackers) {
    expect(attacker).toMatch(/^\| can\b/m);
    expect(attacker).toMatch(/^\| cannot\b/m);
  }
});

test.each(rows.filter(([, word = '']) => word.startsWith('cannot')))(
  '%s%s %s is proven by a test that exists',
  (_, __, ___, shownBy = '') => {
    const tests = [...shownBy.matchAll(/\]\(\.\.\/(test\/[^)#]+\.test\.ts)\)/g)].map(([, path = '']) => path);
    expect(tests).not.toEqual([]);
    for (const path of tests) expect(existsSync(join(root, path))).toBe(true);
  },
);
