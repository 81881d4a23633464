import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runProgram, TooManySteps } from './backtracking-program.ts';
import { parseBacktracking } from './parse-backtracking.ts';

function find(pattern: string, text: string): readonly [number, number] | undefined {
  const { steps, registers } = parseBacktracking(pattern);
  const budget = { left: 100_000 };
  for (let start = 0; start <= text.length; start++) {
    const end = runProgram(
      steps,
      text,
      start,
      Array.from({ length: registers }, () => -1),
      budget,
    );
    if (end >= 0) return [start, end];
  }
  return undefined;
}

test.each([
  ['a(?=b)', 'acab', [2, 3]],
  ['a(?!b)', 'abac', [2, 3]],
  ['(?<=a)b', 'bab', [2, 3]],
  ['(?<!a)b', 'abcb', [3, 4]],
  ['(?<=ab+)c', 'cabbc', [4, 5]],
  [String.raw`(\w)\1`, 'abccd', [2, 4]],
  [String.raw`(?<q>["'])x\k<q>`, `"x' 'x'`, [4, 7]],
  ['(?P<q>a)(?P=q)', 'baa', [1, 3]],
  [String.raw`(?i)(a)\1`, 'xAa', [1, 3]],
  ['(?i:A)b', 'ab', [0, 2]],
  ['a{2,3}', 'caaaa', [1, 4]],
  ['a{2,3}?', 'caaaa', [1, 3]],
  ['a{2}', 'caaaa', [1, 3]],
  ['(a*)*b', 'aab', [0, 3]],
  ['(|a)+b', 'aab', [0, 3]],
  [String.raw`\Aab\z`, 'ab', [0, 2]],
  ['(?m)^b$', 'a\nb\nc', [2, 3]],
  ['(?s)a.b', 'a\nb', [0, 3]],
  ['😀+', 'x😀😀', [1, 5]],
  ['{a}', 'x{a}', [1, 4]],
  [String.raw`[^\]a]`, 'a]b', [2, 3]],
])('%s in %j is at %j', (pattern, text, place) => {
  expect(find(pattern, text)).toEqual(place);
});

test.each([
  '(',
  ')',
  'a)',
  '*a',
  'a**',
  '(?>a)',
  '[a',
  '[]',
  String.raw`\2(a)`,
  String.raw`\k<x>`,
  '(?R)',
  '[[:alpha:]]',
  String.raw`\q`,
  'a{3,2}',
  '((a{99}){99}){99}',
])('%s is refused', (pattern) => {
  expect(() => parseBacktracking(pattern)).toThrow(Error);
});

test('what is found is what the platform finds', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '(a|b)',
    '(?:ab|a)',
    '(?=a)',
    '(?!b)',
    '(?<=a)',
    '(?<!b)',
    '^',
    '$',
    '\\b',
    '\\w',
    '(b)',
  );
  const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '{2}', '{1,2}');
  const item = fc
    .tuple(piece, quantifier)
    .map(([part, sign]) => (/^(?:\(\?[=!<]|[\^$]|\\b)/.test(part) ? part : part + sign));
  const pattern = fc.array(item, { minLength: 1, maxLength: 6 }).map((items) => items.join(''));
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\n'), maxLength: 10 });
  fc.assert(
    fc.property(pattern, fc.boolean(), text, (source, again, sample) => {
      const whole = again ? `(${source})\\1` : source;
      const native = new RegExp(whole, 'u').exec(sample);
      const found = find(whole, sample);
      expect(found).toEqual(native === null ? undefined : [native.index, native.index + native[0].length]);
    }),
    { numRuns: 3_000 },
  );
});

test('steps are counted', () => {
  expect(() => find('^(a+)+$', `${'a'.repeat(60)}!`)).toThrow(TooManySteps);
});
