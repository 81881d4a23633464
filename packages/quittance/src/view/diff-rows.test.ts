import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDiff } from './diff-rows.ts';

test('lines carry both line numbers, and the changed part of a line is marked', () => {
  const diff =
    '--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ head\n same\n-limit = 2_000;\n+limit = 5_000;\n+new line\n end\n';
  expect(readDiff(diff)).toEqual({
    added: 2,
    removed: 1,
    rows: [
      { kind: 'note', text: '--- a/x' },
      { kind: 'note', text: '+++ b/x' },
      { kind: 'hunk', text: '@@ -3,3 +3,4 @@ head' },
      { kind: 'same', before: 3, after: 3, text: 'same', changed: undefined },
      { kind: 'removed', before: 4, after: undefined, text: 'limit = 2_000;', changed: [8, 9] },
      { kind: 'added', before: undefined, after: 4, text: 'limit = 5_000;', changed: [8, 9] },
      { kind: 'added', before: undefined, after: 5, text: 'new line', changed: undefined },
      { kind: 'same', before: 5, after: 6, text: 'end', changed: undefined },
    ],
  });
});

test('a line that looks like a file header is still a line', () => {
  const { rows } = readDiff('@@ -1,2 +1,2 @@\n--- a comment in SQL\n+++ another\n same\n');
  expect(rows.map(({ kind }) => kind)).toEqual(['hunk', 'removed', 'added', 'same']);
});

test('text without hunks is a diff if its lines start with a sign; prose about a change is not', () => {
  expect(readDiff('--- a/x\n+++ b/x\n-1 Old Mill Lane\n+7 Harbour Row\n')).toMatchObject({
    added: 1,
    removed: 1,
  });
  const [removed, added] = readDiff('-1 Old Mill Lane\n+1 New Mill Lane').rows;
  expect(removed).toMatchObject({ kind: 'removed', before: undefined, changed: [2, 5] });
  expect(added).toMatchObject({ kind: 'added', after: undefined, changed: [2, 5] });
  expect(readDiff('-a\n+b\n… cut').rows.map(({ kind }) => kind)).toEqual(['removed', 'added', 'note']);
  expect(readDiff('What changes:\n- the address').rows.map(({ kind }) => kind)).toEqual(['note', 'note']);
});

test('no line of any text is lost', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.constantFrom('@@ -1 +1 @@', '+a', '-b', ' c', '', '@@ -1,9 +1,9 @@'),
        ),
      ),
      (lines) => {
        const diff = lines.join('\n');
        const written = diff.split(/\r?\n/);
        if (written.at(-1) === '') written.pop();
        const sign = { added: '+', removed: '-', same: ' ', hunk: '', note: '' } as const;
        const shown = readDiff(diff).rows.map((row) => `${sign[row.kind]}${row.text}`);
        // An empty line stands for a context line whose space was stripped.
        expect(shown.map((line) => line.trimEnd())).toEqual(
          written.map((line, index) => (shown[index] === ' ' && line === '' ? '' : line.trimEnd())),
        );
      },
    ),
  );
});
