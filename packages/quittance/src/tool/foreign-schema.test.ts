import { expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import { readForeignSchema } from './foreign-schema.ts';

const withProperty = (a: JsonObject): JsonObject => ({ type: 'object', properties: { a } });

test.each<[string, JsonObject, JsonObject]>([
  ['an unknown format', { type: 'integer', format: 'uint' }, { type: 'integer' }],
  ['a misspelt keyword', { type: 'string', maxLenght: 3 }, { type: 'string' }],
  ['`required` of a property', { type: 'string', required: true }, { type: 'string' }],
  ['a keyword of draft 4', { type: 'number', exclusiveMinimum: true }, { type: 'number' }],
  ['a type that does not exist', { type: ['string', 'file'], maxLength: 3 }, { maxLength: 3 }],
  ['a pattern of another language', { type: 'string', pattern: '(?P<x>a' }, { type: 'string' }],
  [
    'a slow pattern for names, and what depends on it',
    { patternProperties: { '^(a+)+$': {} }, additionalProperties: false, maxProperties: 3 },
    { maxProperties: 3 },
  ],
])('%s is left out, and the rest is checked', (_, written, kept) => {
  expect(readForeignSchema(withProperty(written)).schema).toEqual(withProperty(kept));
});

test('an unknown dialect is read as the newest', () => {
  const schema = { $schema: 'https://example.com/own', type: 'object', maxProperties: 1 };
  expect(readForeignSchema(schema).schema).toEqual({ type: 'object', maxProperties: 1 });
});

test('a dynamic reference is followed, and counts as slow', () => {
  const tree = { type: 'object', $dynamicAnchor: 'node', properties: { a: { $dynamicRef: '#node' } } };
  expect(readForeignSchema(tree)).toMatchObject({ schema: tree, isSlow: true });
});

test.each([{ $ref: '#/nowhere' }, { $dynamicRef: '#nowhere' }, { $ref: 'https://example.com/a.json' }])(
  'a reference that leads nowhere is refused: %j',
  (property) => {
    expect(() => readForeignSchema(withProperty(property))).toThrow('reference');
  },
);

test('a schema is not changed, and a plain one is quick', () => {
  const schema = withProperty({ type: 'string', format: 'uint' });
  expect(readForeignSchema(schema).isSlow).toBe(false);
  expect(schema).toEqual(withProperty({ type: 'string', format: 'uint' }));
  expect(readForeignSchema(withProperty({ type: 'string', pattern: 'a' })).isSlow).toBe(true);
});
