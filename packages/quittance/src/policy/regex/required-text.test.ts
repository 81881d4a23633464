import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { requiredText } from './linear-regex.ts';

test.each([
  ['ghp_[A-Za-z0-9]{36}', 'ghp_'],
  ['(?i)bearer [a-z]+', 'bearer '],
  ['(password|secret)\\s*=', 'password|secret'],
  ['(?i)(?:api_key|token)x', 'api_key|token'],
  ['-----BEGIN (RSA |EC )?KEY', '-----BEGIN '],
  ['abc*', 'ab'],
  ['abc+', 'abc'],
  ['ab(c|d)', 'ab'],
  ['ab[|]', 'ab'],
  ['ab[]|]x', 'ab'],
  ['ab\\|c', 'ab'],
  ['abc(?)*', 'ab'],
  ['abc(?i)(?s-m){0}', 'ab'],
])('%s needs %s', (pattern, source) => {
  expect(requiredText(pattern)?.source).toBe(source);
});

test.each([
  'ab|cd',
  '(ab|cd)?x',
  '(ab|cd)|e',
  'a',
  'ab?',
  '^ab',
  '\\bab',
  '[ab]c',
  '(?s)ab',
  '(a|b',
  '\\Qab|cd\\E',
  '',
  '(ab|)c',
  'ab[[:alpha:]|x]|y',
  '(ab|cd)(?)?',
])('%s has no required text that could be found', (pattern) => {
  expect(requiredText(pattern)).toBeUndefined();
});

test('no text that matches a pattern lacks its required text', () => {
  const piece = fc.constantFrom(
    'a',
    'k',
    'S',
    '-',
    '|',
    '(',
    ')',
    '[',
    ']',
    '^',
    '*',
    '+',
    '?',
    '{2}',
    '\\',
    '.',
    '(?:',
    ' ',
    '\\|',
    '[^a]',
  );
  const pattern = fc
    .tuple(fc.constantFrom('', '(?i)'), fc.array(piece, { minLength: 2, maxLength: 9 }))
    .map(([flags, pieces]) => flags + pieces.join(''));
  const text = fc.string({
    unit: fc.constantFrom('a', 'k', 's', 'K', 'ſ', '\u212a', '-', '|', ' ', '('),
    maxLength: 12,
  });
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 20 }), (source, texts) => {
      const required = requiredText(source);
      fc.pre(required !== undefined);
      let compiled: RE2JS;
      try {
        compiled = RE2JS.compile(source);
      } catch {
        return;
      }
      for (const sample of texts) expect(!compiled.test(sample) || required.test(sample)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
