import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/arbitrary-outcome.ts';
import { chainHash, genesisHash, bodiesDigest } from './chain.ts';
import { TextHasher } from './prepare-entry.ts';

const hasher = new TextHasher();

test('the hashes are those of the format, for any text, one after another', () => {
  fc.assert(
    fc.property(fc.nat(), anyText, anyText, (sequence, text, bodies) => {
      const previous = genesisHash(text);
      expect(hasher.chainHash(previous, sequence, text)).toBe(chainHash(previous, sequence, text));
      expect(hasher.bodiesDigest('c2FsdA', bodies)).toBe(bodiesDigest('c2FsdA', bodies));
    }),
  );
});

test.each([21_000, 21_834, 65_400, 65_536, 70_000])(
  'a text of %i characters may be longer than the buffer',
  (length) => {
    for (const text of [
      'x'.repeat(length),
      '€'.repeat(length),
      '😀'.repeat(length / 2),
      '\ud800'.repeat(length),
    ]) {
      const previous = genesisHash('s');
      expect(hasher.chainHash(previous, Number.MAX_SAFE_INTEGER, text)).toBe(
        chainHash(previous, Number.MAX_SAFE_INTEGER, text),
      );
      expect(hasher.bodiesDigest('salt', text)).toBe(bodiesDigest('salt', text));
    }
  },
);
