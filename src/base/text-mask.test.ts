import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTextMask } from './text-mask.ts';

const maskBy = (...patterns: readonly RegExp[]): ((text: string) => string) =>
  createTextMask(
    false,
    patterns.map((pattern) => ({ name: String(pattern), pattern })),
  );

describe('a host pattern', () => {
  test.each(['', 'g', 'y', 'gy', 'i', 'giu', 'gv', 'd'])(
    'with the flags %j finds every match in every text',
    (flags) => {
      const pattern = new RegExp('emp-\\d+', flags);
      const mask = maskBy(pattern);
      for (let count = 0; count < 3; count++)
        expect(mask('emp-1, emp-22 and emp-333')).toBe('[REDACTED], [REDACTED] and [REDACTED]');
      expect(pattern.lastIndex).toBe(0);
    },
  );

  test('is not affected by a position that the host left in it', () => {
    const pattern = /a\d/g;
    const mask = maskBy(pattern);
    pattern.lastIndex = 100;
    expect(mask('a1')).toBe('[REDACTED]');
  });

  test('hides only its group named secret, if it has one', () => {
    expect(maskBy(/id=(?<secret>\d+)/)('id=12 id=34')).toBe('id=[REDACTED] id=[REDACTED]');
    expect(maskBy(/id=(?<secret>\d+)|key\d/)('id=12 key1')).toBe('id=[REDACTED] [REDACTED]');
    expect(maskBy(/id=(?=(?<secret>\d+))/)('id=12')).toBe('id=[REDACTED]');
    expect(maskBy(/(?=(?<secret>\d\d))/)('x12')).toBe('x[REDACTED]');
  });

  test('may match the empty text without hiding everything', () => {
    expect(maskBy(/x*/)('abxxc')).toBe('ab[REDACTED]c');
    expect(maskBy(/(?:)/)('abc')).toBe('abc');
    expect(maskBy(/$/u)('a😀')).toBe('a😀');
  });

  test('may overlap with another: one mask covers both', () => {
    expect(maskBy(/abc/, /cde/, /b/)('abcde abc')).toBe('[REDACTED] [REDACTED]');
    expect(maskBy(/ab/, /cd/)('abcd')).toBe('[REDACTED][REDACTED]');
  });

  test('may match a mask, and a masked text still stays the same', () => {
    for (const pattern of [/\w+/, /\[RED/, /REDACTED/, /\[.*?\]/, /./, /x?\[REDACTED\]/, /E/i]) {
      const mask = maskBy(pattern);
      const once = mask('ax[REDACTED] b');
      expect(mask(once)).toBe(once);
      expect(once).toContain('[REDACTED]');
    }
  });

  test('that never settles hides everything', () => {
    expect(maskBy(/\w(?=\[REDACTED\])/)('abcdefghij[REDACTED]')).toBe('[REDACTED]');
  });
});

describe('a masked text', () => {
  test('stays the same, whatever the patterns', () => {
    const patterns = fc.subarray([/\w+/, /\d/, /[A-Z]{2,}/, /\[|\]/, /REDACT/, /a.c/, / /, /(?<secret>b)c/], {
      minLength: 1,
    });
    const text = fc.array(
      fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('[REDACTED]', 'abc', 'ABC', '[RED', '12')),
    );
    fc.assert(
      fc.property(patterns, text, (chosen, parts) => {
        const mask = maskBy(...chosen);
        const once = mask(parts.join(''));
        expect(mask(once)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is the same text if nothing was found', () => {
    expect(createTextMask(true, [])('nothing to see')).toBe('nothing to see');
    expect(createTextMask(false, [])('password=hunter2')).toBe('password=hunter2');
    expect(createTextMask(true, [{ name: 'x', pattern: /x/ }])('password=hunter2 x')).toBe(
      'password=[REDACTED] [REDACTED]',
    );
  });
});
