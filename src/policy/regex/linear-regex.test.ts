import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMsPerRun } from '../../../test/cpu-time.ts';
import { parseRegex, type LinearRegex, type RegexOptions } from './linear-regex.ts';

function regex(pattern: string, options?: RegexOptions): LinearRegex {
  const reading = parseRegex(pattern, options);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.regex;
}

function problem(pattern: string, options?: RegexOptions): string {
  const reading = parseRegex(pattern, options);
  return reading.ok ? 'none' : reading.problem;
}

test('a pattern is searched for anywhere in the text', () => {
  expect(regex('b+').test('abbc')).toBe(true);
  expect(regex('^b').test('abbc')).toBe(false);
});

test.each([
  ['(?i)bearer', 'BEARER x'],
  ['(?i:ab)c', 'ABc'],
  ['(?s)a.b', 'a\nb'],
  ['(?m)^b$', 'a\nb\nc'],
  ['(?U)a+', 'aa'],
])('the flags inside %s work', (pattern, text) => {
  expect(regex(pattern).test(text)).toBe(true);
});

test.each([
  ['a(?=b)', 'lookahead'],
  ['a(?!b)', 'negative lookahead'],
  ['(?<=a)b', 'lookbehind'],
  ['(?<!a)b', 'negative lookbehind'],
  [String.raw`(a)\1`, 'a backreference'],
  [String.raw`(?<x>a)\k<x>`, 'a named backreference'],
])('%s is refused for what it uses, and why', (pattern, construct) => {
  expect(problem(pattern)).toContain(construct);
  expect(problem(pattern)).toContain('linear engine cannot take');
  expect(parseRegex(pattern, { allowBacktracking: true }).ok).toBe(true);
});

test.each(['[', '(', 'a**', String.raw`\h`, 'a{2000}', String.raw`\U0041`])('%s is no pattern', (pattern) => {
  expect(problem(pattern)).not.toBe('none');
  expect(problem(pattern)).not.toContain('linear engine');
});

test.each([
  [String.raw`^\u20ac$`, '€'],
  [String.raw`^[\u0041-\u0043]$`, 'B'],
  [String.raw`^\ud83d\ude00$`, '😀'],
  [String.raw`a\Z`, 'ba'],
  [String.raw`^\\u0041$`, String.raw`\u0041`],
  [String.raw`^\Q\u0041\E$`, String.raw`\u0041`],
])('%s, as other engines write it, is read as they do', (pattern, text) => {
  expect(regex(pattern).test(text)).toBe(true);
});

test('a pattern that needs backtracking is followed where the host allows it', () => {
  const backtracking = regex('(?i)A(?=B)', { allowBacktracking: true });
  expect(backtracking.test('xab')).toBe(true);
  expect(backtracking.test('xa b')).toBe(false);
  expect(backtracking.findAll('abab ac')).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test('backtracking gives up after so many steps and says that it does not know', () => {
  const hopeless = regex('^(?=a)(a+)+$', { allowBacktracking: true });
  expect(hopeless.test('a'.repeat(40))).toBe(true);
  expect(hopeless.test(`${'a'.repeat(40)}!`)).toBeUndefined();
  expect(hopeless.findAll(`${'a'.repeat(40)}!`)).toEqual([[0, 41]]);
});

test('a long text is no reason to give up', () => {
  const text = `${'word '.repeat(40_000)}password=hunter2`;
  expect(regex('password=(?!none)', { allowBacktracking: true }).test(text)).toBe(true);
  expect(regex('(?<!my )password=', { allowBacktracking: true }).findAll(text)).toHaveLength(1);
});

test('all matches are found, and matches of nothing are not', () => {
  expect(regex('a+').findAll('aa b a')).toEqual([
    [0, 2],
    [5, 6],
  ]);
  expect(regex('x*').findAll('abc')).toEqual([]);
});

test('what is found is what the platform finds, for patterns both read alike', () => {
  const patterns = ['a+', '[ab]c?', 'a|bc', '(ab)+', 'b{2,3}', '^a', 'c$', String.raw`\bab\b`, '[^a]'];
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n') });
  fc.assert(
    fc.property(fc.constantFrom(...patterns), text, (pattern, sample) => {
      const ours = regex(pattern);
      const found = [...sample.matchAll(new RegExp(pattern, 'g'))].map(({ 0: match, index }) => [
        index,
        index + match.length,
      ]);
      expect(ours.findAll(sample)).toEqual(found);
      expect(ours.test(sample)).toBe(found.length > 0);
    }),
  );
});

test('nothing in a text makes it throw: NULs, lone surrogates, all of Unicode', () => {
  const ours = [regex('.'), regex(String.raw`\p{L}+`), regex('(?i)é|\u{1f600}')];
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const each of ours) expect(() => [each.test(text), each.findAll(text)]).not.toThrow();
    }),
  );
  expect(regex('x').test('\ud800\0x')).toBe(true);
});

test.each([
  ['^(a+)+$', 'a', '!'],
  ['(a|a)*b', 'a', '!'],
  ['(.*)(.*)(.*)(.*)x', 'y', ''],
  [String.raw`(\w+\s?)*$`, 'ab ', '!'],
])('twice the text costs %s about twice the time', (pattern, unit, end) => {
  const ours = regex(pattern);
  const timeOf = (length: number): number => {
    const text = unit.repeat(length) + end;
    return cpuMsPerRun(() => void ours.test(text));
  };
  timeOf(100_000); // The compiler has its turn first.
  // Linear is 4 times, quadratic 16 times.
  expect(timeOf(400_000)).toBeLessThan(timeOf(100_000) * 10);
});

test('all matches are found in time linear in the text, at the price of taking the rest as one', () => {
  const hoping = regex('(?s)<s>.*</s>|<s>');
  const few = '<s>'.repeat(7);
  expect(hoping.findAll(few)).toHaveLength(7);
  const many = '<s>'.repeat(30_000);
  const spans = hoping.findAll(many);
  expect(spans.at(-1)?.[1]).toBe(many.length);
  expect(spans.length).toBeLessThan(1_000);
  const found = spans.reduce((sum, [start, end]) => sum + end - start, 0);
  expect(found).toBe(many.length);
});

test('matches of nothing are bounded like others', () => {
  const many = 'a'.repeat(50_000);
  expect(regex('(?:a[^b]*b)?').findAll(many)).toEqual([[0, many.length]]);
});

test('what begins every match is no reason to look at less than the text', () => {
  const text = `x ab\nab1 xab2\n`;
  expect(regex('ab[0-9]').findAll(text)).toEqual([
    [5, 8],
    [10, 13],
  ]);
  expect(regex(String.raw`ab[0-9]\b`).test(text)).toBe(true);
  expect(regex('(?i)AB2\n$').test(text)).toBe(true);
});

test('many plain matches are each found', () => {
  expect(regex('(?i)ab+').findAll('xABB '.repeat(20_000))).toHaveLength(20_000);
  expect(regex('(?i)[a-z]').findAll('x'.repeat(20_000))).toHaveLength(20_000);
});

test('a match at the very end of a long text is found', () => {
  const text = `${'x'.repeat(5_000_000)}ghp_${'a'.repeat(36)}`;
  expect(regex('ghp_[A-Za-z0-9]{36}').test(text)).toBe(true);
});
