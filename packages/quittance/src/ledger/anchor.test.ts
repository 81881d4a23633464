import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Head } from './chain.ts';
import { anchorToText, createAnchor, parseAnchor, signAnchor, verifyAnchor } from './anchor.ts';

const heads = [
  { sessionId: 'b', sequence: 2, hash: '22'.repeat(32) },
  { sessionId: 'a\ud800"', sequence: 7, hash: '11'.repeat(32) },
];
const anchor = createAnchor(heads, 1_790_000_000_000);
const pair = generateKeyPairSync('ed25519');

describe('an anchor', () => {
  test('is the same for any order of the heads', () => {
    expect(createAnchor(heads.toReversed(), anchor.at)).toEqual(anchor);
    expect(anchor.heads.map((head) => head.sessionId)).toEqual(['a\ud800"', 'b']);
  });

  test('has one head per session', () => {
    expect(() => createAnchor([...heads, heads[0] as Head], 1)).toThrow('session "b" has two heads');
  });

  test('is read back from its text, signed or not, empty or not', () => {
    for (const each of [anchor, signAnchor(anchor, pair.privateKey), createAnchor([], 0)])
      expect(parseAnchor(anchorToText(each))).toEqual(each);
  });

  test('is rejected if anything in its text was changed', () => {
    const text = anchorToText(anchor);
    for (const [from, to] of [
      ['"sequence":7', '"sequence":6'],
      ['"at": 1790000000000', '"at": 1790000000001'],
      ['2222', '2223'],
      ['"session":"b"', '"session":"c"'],
      ['{"session":"b"', '{"session":"bb","sequence":1,"hash":""},{"session":"b"'],
    ] as const)
      expect(() => parseAnchor(text.replace(from, to))).toThrow('its digest does not match');
  });

  test('an anchor of a newer version is rejected, and so is a text that is not an anchor', () => {
    expect(() => parseAnchor('{"quittance_anchor":2}')).toThrow('newer version');
    for (const text of [
      '',
      'null',
      '{}',
      '{"quittance_anchor":1}',
      '{"quittance_anchor":1,"at":1,"heads":[1],"digest":""}',
    ])
      expect(() => parseAnchor(text)).toThrow(/This is not a valid anchor|must be \{session/);
  });
});

describe('a signature', () => {
  const signed = signAnchor(anchor, pair.privateKey);

  test('is valid only for its key and for this anchor', () => {
    expect(verifyAnchor(signed, pair.publicKey)).toBe(true);
    expect(verifyAnchor(signed, generateKeyPairSync('ed25519').publicKey)).toBe(false);
    expect(verifyAnchor(anchor, pair.publicKey)).toBe(false);
    const other = createAnchor(heads.slice(1), anchor.at);
    expect(verifyAnchor({ ...other, signature: signed.signature as string }, pair.publicKey)).toBe(false);
    expect(verifyAnchor({ ...signed, heads: other.heads }, pair.publicKey)).toBe(false);
    expect(verifyAnchor({ ...signed, signature: 'nonsense' }, pair.publicKey)).toBe(false);
  });

  test('needs an Ed25519 key of the right half', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(() => signAnchor(anchor, rsa.privateKey)).toThrow('found a private one of type rsa');
    expect(() => signAnchor(anchor, pair.publicKey)).toThrow('takes a private Ed25519 key');
    expect(() => verifyAnchor(signed, pair.privateKey)).toThrow('takes a public Ed25519 key');
  });
});
