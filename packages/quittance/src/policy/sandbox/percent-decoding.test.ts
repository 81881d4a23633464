import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodePercent } from './percent-decoding.ts';

describe('decoding percent escapes', () => {
  test.each([
    ['%2e%2E', '..'],
    ['%252e', '%2e'],
    ['a%20b%', 'a b%'],
    ['%zz%4', '%zz%4'],
    ['%c3%bc%F0%9F%98%80', 'ü😀'],
    ['%c0%ae%c0%af', './'],
    ['%e0%80%ae', '.'],
    ['%u002f%u00', '/%u00'],
    ['%ff%c3', '\ufffd\ufffd'],
    ['%00', '\0'],
  ])('%s becomes %s', (text, decoded) => {
    expect(decodePercent(text)).toBe(decoded);
  });

  test('returns whatever was encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decodePercent(encodeURIComponent(text))).toBe(text);
      }),
    );
  });
});
