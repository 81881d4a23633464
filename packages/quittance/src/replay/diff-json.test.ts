import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from '../base/canonical.ts';
import type { JsonValue } from '../base/json.ts';
import { diffJson } from './diff-json.ts';

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

test('values with the same JSON are equal, others differ', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(diffJson(a, structuredClone(a))).toEqual([]);
      expect(diffJson(a, b).length === 0).toBe(canonicalJson(a) === canonicalJson(b));
    }),
  );
});

test('names every path, including those that one side lacks', () => {
  expect(
    diffJson({ a: 1, list: [1, { x: 'y' }], gone: null }, { list: [1, { x: 'z' }, 3], a: 1, new: [] }),
  ).toEqual([
    { path: ['list', 1, 'x'], a: 'y', b: 'z' },
    { path: ['list', 2], a: undefined, b: 3 },
    { path: ['gone'], a: null, b: undefined },
    { path: ['new'], a: undefined, b: [] },
  ]);
});

test('an array is not an object, and inherited names are read as own properties', () => {
  expect(diffJson([], {})).toEqual([{ path: [], a: [], b: {} }]);
  const [a, b] = ['{"__proto__":{"x":1}}', '{"__proto__":{"x":2},"constructor":1}'].map(
    (text) => JSON.parse(text) as JsonValue,
  );
  expect(diffJson(a, b).map(({ path }) => path)).toEqual([['__proto__', 'x'], ['constructor']]);
});
