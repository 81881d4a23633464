import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namesDigest, shortDigest } from './short-digest.ts';

const digest = `sha256:${createHash('sha256').update('A7').digest('hex')}`;
const hex = digest.slice(7);

describe('a typed digest', () => {
  test('matches in full, or by at least its first twelve characters', () => {
    for (let length = 12; length <= hex.length; length++) {
      expect(namesDigest(hex.slice(0, length), digest)).toBe(true);
      expect(namesDigest(`sha256:${hex.slice(0, length)}`, digest)).toBe(true);
    }
    expect(namesDigest(shortDigest(digest), digest)).toBe(true);
    expect(namesDigest(hex.slice(0, 12).toUpperCase(), digest)).toBe(true);
  });

  test('is rejected if it is shorter or empty', () => {
    for (const typed of ['', 'sha256:', hex.slice(0, 11), '%'.repeat(12), `${hex.slice(0, 12)} `])
      expect(() => namesDigest(typed, digest)).toThrow(/at least the first 12 characters/);
  });

  test('a typed digest of another algorithm names another input', () => {
    expect(namesDigest(`hmac-sha256:${hex}`, digest)).toBe(false);
    expect(namesDigest(`256:${hex}`, digest)).toBe(false);
  });

  test('a typed digest with any difference names another input', () => {
    fc.assert(
      fc.property(fc.nat(hex.length - 1), fc.constantFrom(...'0123456789abcdef'.split('')), (at, other) => {
        fc.pre(hex[at] !== other);
        const changed = hex.slice(0, at) + other + hex.slice(at + 1);
        expect(namesDigest(changed.slice(0, Math.max(12, at + 1)), digest)).toBe(false);
      }),
    );
  });
});
