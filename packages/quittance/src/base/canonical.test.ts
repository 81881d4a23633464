import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, digestJson, keyedDigestJson } from './canonical.ts';
import type { JsonValue } from './json.ts';

const jsonValue = fc
  .jsonValue({ noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

/** The same data with the members of every object in another order. */
function shuffle(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shuffle);
  const entries = Object.entries(value).map(([key, member]) => [key, shuffle(member)] as const);
  return Object.fromEntries(entries.reverse());
}

describe('canonical JSON', () => {
  test('does not depend on the order of members', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(shuffle(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('loses nothing: parsed again it is the same data', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  test('distinguishes different data', () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (left, right) => {
        const same = JSON.stringify(sortDeep(left)) === JSON.stringify(sortDeep(right));
        expect(canonicalJson(left) === canonicalJson(right)).toBe(same);
        expect(digestJson(left) === digestJson(right)).toBe(same);
      }),
    );
  });

  test('writes the structure sample of RFC 8785', () => {
    const sample: unknown = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(sample as JsonValue)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('sorts the keys of the RFC 8785 sample by UTF-16 code units', () => {
    const sample = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(Object.values(JSON.parse(canonicalJson(sample)) as object)).toEqual([
      'One', // integer keys come first in every object, in whatever order they are written
      'Carriage Return',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
    expect(canonicalJson({ b: 1, '10': 1, '2': 1, a: 1, B: 1, '': 1 })).toBe(
      '{"":1,"10":1,"2":1,"B":1,"a":1,"b":1}',
    );
  });

  test.each<[number, string]>([
    [0, '0'],
    [-0, '0'],
    [5e-324, '5e-324'],
    [-5e-324, '-5e-324'],
    [1.7976931348623157e308, '1.7976931348623157e+308'],
    [9007199254740992, '9007199254740992'],
    [-9007199254740992, '-9007199254740992'],
    [295147905179352830000, '295147905179352830000'],
    [9.999999999999997e22, '9.999999999999997e+22'],
    [1e23, '1e+23'],
    [1.0000000000000001e23, '1.0000000000000001e+23'],
    [999999999999999700000, '999999999999999700000'],
    [1e21, '1e+21'],
    [9.999999999999997e-7, '9.999999999999997e-7'],
    [0.000001, '0.000001'],
    [333333333.3333332, '333333333.3333332'],
    [1424953923781206.25, '1424953923781206.2'],
  ])('writes the number %d of RFC 8785 as %s', (number, text) => {
    expect(canonicalJson(number)).toBe(text);
  });

  test('escapes lone surrogates, NULs and quotes anywhere, and nothing else', () => {
    expect(canonicalJson(['\ud800', '\udc00x', '\ud83d\ude00', '\u0000\u001f\u007f\u2028', '"\\/'])).toBe(
      '["\\ud800","\\udc00x","\ud83d\ude00","\\u0000\\u001f\u007f\u2028","\\"\\\\/"]',
    );
    expect(canonicalJson({ '\ud800"': 1 })).toBe('{"\\ud800\\"":1}');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(canonicalJson(text)).toBe(JSON.stringify(text));
        expect(canonicalJson(text).isWellFormed()).toBe(true);
      }),
    );
    expect(canonicalJson('x"'.repeat(2_500_000))).toBe(JSON.stringify('x"'.repeat(2_500_000)));
  });

  test('treats __proto__ like any other key', () => {
    const value = JSON.parse('{"b":1,"__proto__":{"z":1,"a":2}}') as JsonValue;
    expect(canonicalJson(value)).toBe('{"__proto__":{"a":2,"z":1},"b":1}');
  });

  test('does not modify the value', () => {
    const value = { b: 1, a: [{ d: 1, c: 2 }] };
    canonicalJson(value);
    expect(JSON.stringify(value)).toBe('{"b":1,"a":[{"d":1,"c":2}]}');
  });

  test('works for everything toJson accepts, 512 levels deep', () => {
    let deep: JsonValue = 1;
    for (let level = 0; level < 512; level++) deep = level % 2 === 0 ? [deep] : { b: deep, a: 1 };
    expect(JSON.parse(canonicalJson(deep))).toEqual(deep);
  });
});

describe('the digest of JSON', () => {
  test('is the SHA-256 of the canonical form', () => {
    expect(digestJson({})).toBe('sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
    const text = canonicalJson({ b: 'é', a: [1] });
    expect(digestJson({ b: 'é', a: [1] })).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
  });

  test('the digest of JSON under a key is the HMAC of the canonical form, different for every key', () => {
    const [key, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const expected = createHmac('sha256', key).update('{"a":2,"b":1}').digest('hex');
    expect(keyedDigestJson(key, { b: 1, a: 2 })).toBe(`hmac-sha256:${expected}`);
    expect(keyedDigestJson(other, { b: 1, a: 2 })).not.toBe(`hmac-sha256:${expected}`);
  });

  test('distinguishes lone surrogates', () => {
    expect(digestJson('\ud800')).not.toBe(digestJson('\ud801'));
    expect(digestJson('\ud800')).not.toBe(digestJson('\ufffd'));
  });
});

function sortDeep(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return ['array', ...value.map(sortDeep)];
  const entries = Object.entries(value).map(([key, member]): JsonValue => [key, sortDeep(member)]);
  return [
    'object',
    ...entries.sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1)),
  ];
}
