import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from 'quittance/internal/base/canonical';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { inputDifference } from './input-difference.ts';

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;

describe('the difference between inputs', () => {
  test('lists added, removed and changed fields with their paths', () => {
    expect(
      inputDifference({ a: 1, b: { c: [1, 2] }, gone: null }, { a: 1, b: { c: [1, 3, 4] }, 'x y': {} }),
    ).toEqual([
      { path: '$.b.c[1]', before: 2, after: 3 },
      { path: '$.b.c[2]', before: undefined, after: 4 },
      { path: '$.gone', before: null, after: undefined },
      { path: '$["x y"]', before: undefined, after: {} },
    ]);
  });

  test('is empty exactly for equal inputs', () => {
    fc.assert(
      fc.property(json, json, (left, right) => {
        expect(inputDifference(left, structuredClone(left))).toEqual([]);
        const isSame = canonicalJson(left) === canonicalJson(right);
        expect(inputDifference(left, right).length === 0).toBe(isSame);
      }),
    );
  });

  test('treats dangerous names as ordinary fields', () => {
    const poisoned = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as JsonObject;
    expect(inputDifference({}, poisoned).map(({ path }) => path)).toEqual(['$.__proto__', '$.constructor']);
    expect(inputDifference(poisoned, {}).map(({ before }) => before)).toEqual([{ admin: true }, 1]);
  });

  test('shows a mask for redacted values and still reports the change', () => {
    const hidden = inputDifference(
      { key: '[REDACTED]', all: { a: 1 } },
      { key: 's3cret', all: { a: 2 } },
      { key: '[REDACTED]', all: '[REDACTED]' },
    );
    expect(hidden).toEqual([
      { path: '$.key', before: '[REDACTED]', after: '[REDACTED]' },
      { path: '$.all.a', before: 1, after: '[REDACTED]' },
    ]);
  });
});
