import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../base/json.ts';
import { prettyJson } from './pretty-json.ts';

test('the value is printed in the usual layout', () => {
  const value = { name: 'rye', tags: ['a', 1, null, true], empty: {}, none: [], deep: { er: [{}] } };
  expect(prettyJson(value)).toBe(JSON.stringify(value, null, 2));
});

test('every value can be parsed back from the printed text', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      // Parsing -0 gives 0: JSON has only one zero.
      expect(JSON.stringify(JSON.parse(prettyJson(value as JsonValue)))).toBe(JSON.stringify(value));
    }),
  );
});

test('invisible and bidirectional characters are escaped', () => {
  expect(prettyJson({ 'a\u202e': '\u0000\u200bx\ud800' })).toBe(
    '{\n  "a\\u202e": "\\u0000\\u200bx\\ud800"\n}',
  );
});

test('deep nesting overflows neither the stack nor the indentation', () => {
  let deep: JsonValue = 0;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(prettyJson(deep).length).toBeLessThan(200_000);
  let wide: JsonValue = Array.from({ length: 10_000 }, () => 0);
  for (let depth = 0; depth < 500; depth++) wide = [wide];
  expect(prettyJson(wide).length).toBeLessThan(1_000_000);
});
