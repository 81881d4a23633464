import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../base/json.ts';
import { prettyJson } from './pretty-json.ts';

test('it is the value, laid out as people know it', () => {
  const value = { name: 'rye', tags: ['a', 1, null, true], empty: {}, none: [], deep: { er: [{}] } };
  expect(prettyJson(value)).toBe(JSON.stringify(value, null, 2));
});

test('every value can be read back from what is shown', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      // Reading -0 back gives 0: JSON has only one of them.
      expect(JSON.stringify(JSON.parse(prettyJson(value as JsonValue)))).toBe(JSON.stringify(value));
    }),
  );
});

test('what cannot be seen, or would turn what is seen around, is escaped', () => {
  expect(prettyJson({ 'a\u202e': '\u0000\u200bx\ud800' })).toBe(
    '{\n  "a\\u202e": "\\u0000\\u200bx\\ud800"\n}',
  );
});

test('deep nesting does not blow up: neither the stack nor the indentation', () => {
  let deep: JsonValue = 0;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(prettyJson(deep).length).toBeLessThan(200_000);
  let wide: JsonValue = Array.from({ length: 10_000 }, () => 0);
  for (let depth = 0; depth < 500; depth++) wide = [wide];
  expect(prettyJson(wide).length).toBeLessThan(1_000_000);
});
