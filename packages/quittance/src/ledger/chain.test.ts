import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/arbitrary-outcome.ts';
import { chainHash, genesisHash, headFromWire, headToWire } from './chain.ts';

const hash = 'ab'.repeat(32);

test('the hashes of format 1 never change', () => {
  expect(genesisHash('s')).toBe('88e37dfae4640b675e174caaa6ac8a8a671c7e794879c9b2f01e37c294fff1dd');
  expect(chainHash(genesisHash('s'), 1, '{"v":1}')).toBe(
    '9191987434af45a6c69296122e66290e5ade97060f6fd6855daa797272f91cfe',
  );
});

test('another previous hash, sequence or text gives another hash', () => {
  const link = fc.record({
    previous: fc.constantFrom(hash, 'cd'.repeat(32)),
    sequence: fc.nat(),
    text: fc.string(),
  });
  fc.assert(
    fc.property(link, link, (one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other);
      expect(
        chainHash(one.previous, one.sequence, one.text) ===
          chainHash(other.previous, other.sequence, other.text),
      ).toBe(same);
    }),
  );
  expect(chainHash(hash, 1, '2\nx')).not.toBe(chainHash(hash, 12, 'x'));
});

test('sessions start with different hashes, even if only a lone surrogate differs', () => {
  expect(genesisHash('a\ud800')).not.toBe(genesisHash('a\ud801'));
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      expect(genesisHash(one) === genesisHash(other)).toBe(one === other);
    }),
  );
});

test('a head is read as it was written, and any other value is rejected', () => {
  const head = { sessionId: 's\ud800', sequence: 3, hash };
  expect(headFromWire(headToWire(head))).toEqual(head);
  for (const wrong of [null, 's', [], {}, { session: 's', sequence: '3', hash }])
    expect(() => headFromWire(wrong)).toThrow('must be {session, sequence, hash}');
});
