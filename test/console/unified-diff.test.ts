import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDiff } from '../../packages/quittance/src/view/diff-rows.ts';
import { unifiedDiff } from '../../packages/console/src/ui/unified-diff.ts';

const lines = fc.array(fc.constantFrom('a', 'b', 'c', '- d', '+ e', '@@ -1 +1 @@', ''), { maxLength: 30 });
const textOf = (list: readonly string[]): string => list.map((line) => `${line}\n`).join('');

test('kept and added lines are the new text, kept and removed lines the old one', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const { rows } = readDiff(unifiedDiff(textOf(before), textOf(after)));
      const wrong = rows.filter(
        (row) =>
          row.kind !== 'hunk' &&
          row.kind !== 'note' &&
          ((row.before !== undefined && before[row.before - 1] !== row.text) ||
            (row.after !== undefined && after[row.after - 1] !== row.text)),
      );
      expect(wrong).toEqual([]);
      const count = (kind: string): number => rows.filter((row) => row.kind === kind).length;
      expect(count('added') - count('removed')).toBe(after.length - before.length);
      expect(count('note')).toBe(0);
    }),
  );
});

test('an unchanged text, and two that differ only in a final newline, give an empty diff', () => {
  expect(unifiedDiff('a\nb\n', 'a\nb\n')).toBe('');
  expect(unifiedDiff('a\r\nb', 'a\nb\n')).toBe('');
});

test('distant changes are two hunks, with three lines around each', () => {
  const before = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  const after = before.with(4, 'five').with(34, 'thirty-five');
  const diff = unifiedDiff(textOf(before), textOf(after));
  expect(diff.match(/^@@.*$/gm)).toEqual(['@@ -2,7 +2,7 @@', '@@ -32,7 +32,7 @@']);
  expect(diff).toContain('\n-line 5\n+five\n');
});

test('a new or removed text is a hunk against nothing', () => {
  expect(unifiedDiff('', 'a\nb\n')).toBe('@@ -0,0 +1,2 @@\n+a\n+b\n');
  expect(unifiedDiff('a\n', '')).toBe('@@ -1,1 +0,0 @@\n-a\n');
});

test('two long texts without common lines are compared quickly', () => {
  const many = (word: string): string =>
    textOf(Array.from({ length: 20_000 }, (_, line) => `${word} ${line}`));
  const { added, removed } = readDiff(unifiedDiff(many('old'), many('new')));
  expect([added, removed]).toEqual([20_000, 20_000]);
});
