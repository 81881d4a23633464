import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMsPerRun } from '../../../../../test/cpu-time.ts';
import { parseRegex, type LinearRegex } from './linear-regex.ts';

function regex(pattern: string): LinearRegex {
  const reading = parseRegex(pattern);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.regex;
}

function problem(pattern: string): string {
  const reading = parseRegex(pattern);
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
  ['a(?=b)', 'lookahead `(?=`', '`all`'],
  ['a(?!b)', 'negative lookahead `(?!`', '`not`'],
  ['(?<=a)b', 'lookbehind `(?<=`', 'Include the preceding text'],
  ['(?<!a)b', 'negative lookbehind `(?<!`', '`(?:^|[^a])b`'],
  [String.raw`(a)\1`, 'a backreference', 'Write out the alternatives'],
  [String.raw`(?<x>a)\k<x>`, 'a backreference', 'Write out the alternatives'],
  [String.raw`(a)\g{1}`, 'a backreference', 'Write out the alternatives'],
  ['(?P<q>a)(?P=q)', 'a backreference', 'Write out the alternatives'],
  [String.raw`(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10`, 'a backreference', 'Write out the alternatives'],
  ['(?P<q>a)(?P>q)', 'recursion', 'levels'],
  [String.raw`(a)\g<1>`, 'recursion', 'levels'],
  ['a(?R)?b', 'recursion', 'levels'],
  ['(a)(?1)', 'recursion', 'levels'],
  ['(?>a+)b', 'an atomic group', '`(?:…)`'],
  ['a++b', 'a possessive quantifier', 'last `+`'],
  ['a{1,2}+b', 'a possessive quantifier', 'last `+`'],
  ['(a)?(?(1)b|c)', 'a conditional group', 'joined with `|`'],
  ['(?|a|b)', 'a branch reset group', '`(?:…|…)`'],
  ["(?'n'a)", 'a group named with quotes', '`(?<name>…)`'],
  ['(?#c)a', 'a comment', 'YAML comment'],
  ['(?x)a b', 'the flag `x`', 'spaces'],
  ['(?i-x)a', 'the flag `x`', 'spaces'],
  ['(?u)a', 'a flag other than `i`, `m`, `s` and `U`', 'Remove it'],
  [String.raw`a\Kb`, String.raw`\K`, 'part of the match'],
  [String.raw`\Ga`, String.raw`\G`, '`^`'],
  [String.raw`\h`, String.raw`\h`, String.raw`[ \t]`],
  [String.raw`\R`, String.raw`\R`, String.raw`(?:\r\n|\n|\r)`],
  ['a{2000}', 'more than 1,000 repetitions', 'smaller number'],
  ['(a{500}){500}', 'more than 1,000 repetitions', 'multiply'],
])('%s is rejected: the problem names the construct and a way to rewrite it', (pattern, name, rewrite) => {
  const found = problem(pattern);
  expect(found).toContain(`it uses ${name.startsWith('\\') ? `\`${name}\`` : name}`);
  expect(found).toContain(rewrite);
  // Documents cut a problem after 300 characters.
  expect(found.length).toBeLessThanOrEqual(300);
});

test.each([
  ['a(?:[^b]|$)', 'a(?!b)', ['ab', 'ac', 'a', 'aba', '']],
  ['(?:^|[^a])b', '(?<!a)b', ['ab', 'cb', 'b', 'abb', '']],
  [`"[^"]*"|'[^']*'`, String.raw`(["']).*?\1`, ['"a"', `'a'`, `"a'`, `"'"`, 'a']],
])('the proposed rewrite %s gives the same answers as %s', (proposed, refused, texts) => {
  expect(problem(refused)).toContain(`\`${proposed}\``);
  for (const text of texts) expect(regex(proposed).test(text)).toBe(new RegExp(refused).test(text));
});

test.each([
  ['^(?!/workspace/).*', ['/workspace/a', '/etc/passwd', '', 'x/workspace/']],
  ['^(?!a|b)c?', ['a', 'b', 'c', 'd', '']],
  [String.raw`(?i)^(?!rm\b)(?![)(\]]x)\w+$`, ['RM', 'rmdir', 'ls', ')x', '']],
  [String.raw`^(?!(a(b)?)+$)[ab]{2,}$`, ['ab', 'aab', 'ba', 'b']],
  ['^(?!ok)', ['ok', 'no', '']],
])('%s, which begins with a negative lookahead, gives the answers of other engines', (pattern, texts) => {
  const other = new RegExp(pattern.replace('(?i)', ''), pattern.startsWith('(?i)') ? 'i' : '');
  for (const text of texts) expect([text, regex(pattern).test(text)]).toEqual([text, other.test(text)]);
  expect(regex(pattern).source).toBe(pattern);
});

test.each([
  '(?!a)b',
  '^(?!a)b|c',
  '(?m)^(?!a)b',
  '^(?!a)?b',
  '^x(?!a)',
  '^(?!(?=a)b)c',
  String.raw`^(?!(a))\1`,
  '^(?=a)b',
  '^(?!a',
  `^${'(?!a)'.repeat(200_000)}`,
])('a lookahead that does not simply begin the pattern is rejected: %.40s', (pattern) => {
  expect(problem(pattern)).not.toBe('none');
});

test('a match after a negative lookahead is found, so that it can be redacted', () => {
  expect(regex('^(?!ok)[a-z]+').findAll('secret 1')).toEqual([[0, 6]]);
  expect(regex('^(?!ok)[a-z]+').findAll('ok secret')).toEqual([]);
});

test('an octal code is not a backreference if the pattern has fewer groups', () => {
  expect(regex(String.raw`(a)\101`).test('aA')).toBe(true);
  expect(regex(String.raw`()()()()()()()()()()\\10`).test(String.raw`\10`)).toBe(true);
});

test.each(['[', '(', 'a**', String.raw`\y`, String.raw`\U0041`])('%s is not a pattern', (pattern) => {
  expect(problem(pattern)).not.toBe('none');
  expect(problem(pattern)).not.toContain('RE2 does not support');
});

test.each([
  [String.raw`^\u20ac$`, '€'],
  [String.raw`^[\u0041-\u0043]$`, 'B'],
  [String.raw`^\ud83d\ude00$`, '😀'],
  [String.raw`a\Z`, 'ba'],
  [String.raw`^\\u0041$`, String.raw`\u0041`],
  [String.raw`^\Q\u0041\E$`, String.raw`\u0041`],
])('%s, as other engines write it, is read the same way', (pattern, text) => {
  expect(regex(pattern).test(text)).toBe(true);
});

test('all matches are found, but no empty matches', () => {
  expect(regex('a+').findAll('aa b a')).toEqual([
    [0, 2],
    [5, 6],
  ]);
  expect(regex('x*').findAll('abc')).toEqual([]);
});

test('matches equal those of the platform, for patterns that both read alike', () => {
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

test('no text makes it throw: NULs, lone surrogates, all of Unicode', () => {
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
  timeOf(100_000); // The first run is for the JIT compiler.
  // Linear is 4 times, quadratic 16 times.
  expect(timeOf(400_000)).toBeLessThan(timeOf(100_000) * 10);
});

test('all matches are found in linear time, at the price of one span for the rest', () => {
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

test('empty matches are bounded too', () => {
  const many = 'a'.repeat(50_000);
  expect(regex('(?:a[^b]*b)?').findAll(many)).toEqual([[0, many.length]]);
});

test('a literal that begins every match does not shorten the searched text', () => {
  const text = `x ab\nab1 xab2\n`;
  expect(regex('ab[0-9]').findAll(text)).toEqual([
    [5, 8],
    [10, 13],
  ]);
  expect(regex(String.raw`ab[0-9]\b`).test(text)).toBe(true);
  expect(regex('(?i)AB2\n$').test(text)).toBe(true);
});

test('many plain matches are all found', () => {
  expect(regex('(?i)ab+').findAll('xABB '.repeat(20_000))).toHaveLength(20_000);
  expect(regex('(?i)[a-z]').findAll('x'.repeat(20_000))).toHaveLength(20_000);
});

test('a match at the very end of a long text is found', () => {
  const text = `${'x'.repeat(5_000_000)}ghp_${'a'.repeat(36)}`;
  expect(regex('ghp_[A-Za-z0-9]{36}').test(text)).toBe(true);
});
