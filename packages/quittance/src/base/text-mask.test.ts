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
    'a host pattern with the flags %j finds every match in every text',
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

  test('a host pattern that never settles hides everything', () => {
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

describe('an escaped secret', () => {
  const mask = createTextMask(true, []);
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const line = 'aB3dE5gH7jK9mN1p'.repeat(4);
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${line}\n-----END RSA PRIVATE KEY-----`;
  const each = (text: string, toEscape: (code: number) => string): string =>
    text.replaceAll(/[^\n]/g, (letter) => toEscape(letter.charCodeAt(0)));
  const hex = (code: number, digits = 0): string => code.toString(16).padStart(digits, '0');

  test.each<[string, (text: string) => string]>([
    ['percent signs', (text) => each(text, (code) => `%${hex(code, 2)}`)],
    ['decimal entities', (text) => each(text, (code) => `&#${code};`)],
    ['hexadecimal entities', (text) => each(text, (code) => `&#x${hex(code)};`)],
    ['entities of dashes only', (text) => text.replaceAll('-', '&#45;').replaceAll('_', '&lowbar;')],
    ['entities in entities', (text) => each(text, (code) => `&amp;#${code};`)],
    ['JSON escapes', (text) => each(text, (code) => `\\u${hex(code, 4)}`)],
    ['one JSON escape', (text) => text.replaceAll(/[gR]/g, (letter) => `\\u${hex(letter.charCodeAt(0), 4)}`)],
    ['JSON escapes in a JSON text', (text) => each(text, (code) => `\\\\u${hex(code, 4)}`)],
    ['escapes of program text', (text) => each(text, (code) => `\\x${hex(code, 2)}`)],
    ['percent signs of entities', (text) => encodeURIComponent(each(text, (code) => `&#${code};`))],
  ])('is hidden in %s, without the words around it', (_, escape) => {
    for (const secret of [token, key]) {
      const masked = mask(`caf\\u00e9 &amp; ${escape(secret)} 100%25`);
      expect(masked).toMatch(/^caf\\u00e9 &amp; \[REDACTED\][\s\S]{0,2} 100%25$/);
      expect(mask(masked)).toBe(masked);
    }
    const found = new Set<string>();
    mask(`a=${escape(token)}`, found);
    expect(found).toContain(token);
  });

  test('does not hide text that is only escaped', () => {
    for (const text of [
      'Tom &amp; Jerry &#8211; caf\\u00e9 &lt;b&gt;password&lt;/b&gt; 100%25 a+b',
      String.raw`C:\users\x41 \u{1F600} &#9999999; %zz &nbsp;`,
    ])
      expect(mask(text)).toBe(text);
  });

  test.each([
    key.toLowerCase(),
    key.replaceAll('PRIVATE', 'private'),
    `${line}\n-----end rsa private key-----`,
  ])('a private key is hidden whatever the case of its marker: %j', (text) => {
    expect(mask(text).toLowerCase()).not.toContain(line.toLowerCase());
  });
});
