import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isQuittanceError } from '../base/error.ts';
import { createSeal } from './seal.ts';

const key = new Uint8Array(32).fill(7);
const seal = createSeal(key);

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

const isBroken = (run: () => unknown): boolean => isQuittanceError(thrownBy(run), 'seal.broken');

describe('a sealed text', () => {
  test('opens to exactly the sealed text, whatever characters it has', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (plain, context) => {
        expect(seal.open(seal.seal(plain, context), context)).toBe(plain);
      }),
    );
    for (const plain of ['', '\u0000', '\ud800', 'a\udc00\ud800', '\ufffd', '😀', 'x'.repeat(5_000_000)])
      expect(seal.open(seal.seal(plain, 'call'), 'call')).toBe(plain);
  });

  test('states its version and reveals nothing of its content', () => {
    const sealed = seal.seal('hunter2 hunter2 hunter2', 'session/call');
    expect(sealed).toMatch(/^v1\.[\w-]+$/);
    expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toContain('hunter2');
  });

  test('looks different every time', () => {
    const texts = new Set(Array.from({ length: 100 }, () => seal.seal('same', 'same')));
    expect(texts.size).toBe(100);
  });

  test('opens with the same key in another process', () => {
    expect(createSeal(Uint8Array.from(key)).open(seal.seal('a', 'c'), 'c')).toBe('a');
  });

  test('does not open with another key', () => {
    expect(isBroken(() => createSeal(randomBytes(32)).open(seal.seal('a', 'c'), 'c'))).toBe(true);
  });

  test('does not open for another context, however close', () => {
    const sealed = seal.seal('a', 'session/call\ud800');
    for (const context of ['', 'session/call', 'session/call\ufffd', 'session/call\ud801'])
      expect(isBroken(() => seal.open(sealed, context))).toBe(true);
  });

  test('does not open if any one character was changed, added or removed', () => {
    const sealed = seal.seal('some text', 'c');
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      for (const changed of [
        sealed.slice(0, at) + other + sealed.slice(at + 1),
        sealed.slice(0, at) + sealed.slice(at + 1),
        `${sealed.slice(0, at)} ${sealed.slice(at)}`,
      ])
        expect(isBroken(() => seal.open(changed, 'c'))).toBe(true);
    }
    for (const changed of [`${sealed}=`, `${sealed}\n`, sealed.replace('v1', 'v2')])
      expect(isBroken(() => seal.open(changed, 'c'))).toBe(true);
  });

  test('any other text is rejected as broken, and is not quoted', () => {
    for (const text of ['', 'v1.', 'v1.AAAA', 'plain hunter2', `v1.${'A'.repeat(36)}`, 'v1.!!!!']) {
      const thrown = thrownBy(() => seal.open(text, 'c'));
      expect(isQuittanceError(thrown, 'seal.broken')).toBe(true);
      expect(String(thrown)).not.toContain('hunter2');
    }
    fc.assert(fc.property(fc.string(), (text) => isBroken(() => seal.open(`v1.${text}`, 'c'))));
  });
});

describe('the keys of a seal', () => {
  test('are derived: the digest key is always the same, and is not the host key', () => {
    expect(seal.digestKey).toEqual(createSeal(key).digestKey);
    expect(seal.digestKey).toHaveLength(32);
    expect(seal.digestKey).not.toEqual(key);
    expect(createSeal(new Uint8Array(32).fill(8)).digestKey).not.toEqual(seal.digestKey);
    expect(isBroken(() => createSeal(seal.digestKey).open(seal.seal('a', 'c'), 'c'))).toBe(true);
  });

  test('do not change when the host wipes its own copy', () => {
    const mine = Uint8Array.from(key);
    const made = createSeal(mine);
    mine.fill(0);
    expect(made.open(seal.seal('a', 'c'), 'c')).toBe('a');
    expect(made.digestKey).toEqual(seal.digestKey);
  });

  test.each<[string, unknown, string]>([
    ['a short one', new Uint8Array(16), 'found 16 bytes'],
    ['a long one', randomBytes(64), 'found 64 bytes'],
    ['text', 'f'.repeat(32), 'found a value of type string'],
    ['nothing', undefined, 'found a value of type undefined'],
    ['null', null, 'found a value of type null'],
    ['an array', Array.from({ length: 32 }, () => 1), 'found a value of type object'],
  ])('come from 32 bytes; %s is rejected with advice', (_, wrong, found) => {
    const thrown = thrownBy(() => createSeal(wrong as Uint8Array));
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
    expect(String(thrown)).toContain(found);
    expect(String(thrown)).toContain('crypto.randomBytes(32)');
    expect(String(thrown)).not.toContain('ffff');
  });
});
