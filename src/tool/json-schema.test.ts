/* oxlint-disable unicorn/no-thenable -- `then` is a word of JSON Schema */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import { compileJsonSchema } from './json-schema.ts';

const issuesOf = (schema: JsonObject, value: unknown): unknown => compileJsonSchema(schema)(value);
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});

describe('a JSON Schema', () => {
  test('of draft 2020-12, 2019-09, 07 and 06 is supported', () => {
    for (const $schema of [
      'https://json-schema.org/draft/2020-12/schema',
      'https://json-schema.org/draft/2019-09/schema',
      'http://json-schema.org/draft-07/schema#',
      'http://json-schema.org/draft-07/schema',
      'http://json-schema.org/draft-06/schema#',
    ]) {
      expect(issuesOf({ $schema, type: 'object', required: ['a'] }, {})).toEqual([
        { path: ['a'], message: 'is required' },
      ]);
    }
  });

  test('of draft 07 may list the items of a tuple', () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'number' }] };
    expect(issuesOf(schema, ['1'])).toEqual([{ path: [0], message: 'must be number, not string' }]);
  });

  test('may have annotations that change no verdict', () => {
    const schema = object(
      { a: { type: 'string', 'x-hint': 1, example: 'b', enumNames: ['B'], whatever: true } },
      { title: 'T', discriminator: { propertyName: 'a' } },
    );
    expect(issuesOf(schema, { a: 'b' })).toEqual([]);
  });

  test.each([
    ['requried', { type: 'object', requried: ['a'] }, 'required'],
    ['Required', { type: 'object', Required: ['a'] }, 'required'],
    ['min_length', object({ a: { type: 'string', min_length: 2 } }), 'minLength'],
    ['maxlenght', object({ a: { anyOf: [{ maxlenght: 2 }] } }), 'maxLength'],
    ['enums', { $defs: { a: { enums: [1] } } }, 'enum'],
    ['aditionalProperties', { aditionalProperties: false }, 'additionalProperties'],
    ['anyof', { anyof: [{ type: 'string' }] }, 'anyOf'],
  ] as const)('is rejected if it has the misspelt keyword %s', (key, schema, meant) => {
    expect(() => compileJsonSchema(schema)).toThrow(`"${key}"`);
    expect(() => compileJsonSchema(schema)).toThrow(`Did you mean "${meant}"`);
  });

  test('may have properties and values named like misspelt keywords', () => {
    const schema = object(
      { requried: { type: 'string' }, enums: { const: { anyof: 1 } } },
      { default: { typ: 1 }, required: ['requried'] },
    );
    expect(issuesOf(schema, { requried: 'a' })).toEqual([]);
  });

  test.each(['zork', 'date_time', 'Email', 'iso-8601'])('is rejected if it has the format %s', (format) => {
    expect(() => compileJsonSchema(object({ a: { type: 'string', format } }))).toThrow(
      `the unknown format "${format}"`,
    );
  });

  test.each([
    ['$dynamicRef', { $dynamicRef: '#a' }],
    ['unevaluatedItems', { contains: { type: 'number' }, unevaluatedItems: false }],
    ['unevaluatedItems', { allOf: [{ prefixItems: [true] }], unevaluatedItems: false }],
    ['unevaluatedProperties', { if: { required: ['a'] }, else: true, unevaluatedProperties: false }],
    [
      'unevaluatedProperties',
      { allOf: [{ if: { required: ['a'] }, then: true }], unevaluatedProperties: false },
    ],
  ])('is rejected if %s could not be judged', (keyword, schema) => {
    expect(() => compileJsonSchema(schema)).toThrow(`"${keyword}"`);
  });

  test('may accept no value', () => {
    const schema = object({ a: { enum: [] }, b: { enum: [], allOf: [{ type: 'string' }] } });
    expect(issuesOf(schema, {})).toEqual([]);
    expect(issuesOf(schema, { a: 1 })).not.toEqual([]);
    expect(issuesOf(schema, { b: 'b' })).not.toEqual([]);
  });

  test.each([
    [{ $ref: '#' }],
    [{ $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }],
    [{ anyOf: [{ type: 'object' }, { not: { $ref: '#' } }] }],
  ] as const)('is rejected if it refers to itself endlessly: %j', (schema) => {
    expect(() => compileJsonSchema(schema)).toThrow('endlessly');
  });

  test('may refer to itself for deeper values', () => {
    const tree = object({ children: { type: 'array', items: { $ref: '#' } }, name: { type: 'string' } });
    expect(issuesOf(tree, { children: [{ children: [], name: 'a' }] })).toEqual([]);
    expect(issuesOf(tree, { children: [{ name: 1 }] })).toHaveLength(1);
  });

  test('checks the common formats', () => {
    expect(issuesOf(object({ a: { type: 'string', format: 'date-time' } }), { a: 'yesterday' })).toHaveLength(
      1,
    );
  });

  test('may have the $id of another', () => {
    const first = compileJsonSchema({ $id: 'https://example.com/a', type: 'object', required: ['a'] });
    const second = compileJsonSchema({ $id: 'https://example.com/a', type: 'object', required: ['b'] });
    expect([first({ a: 1 }), second({ b: 1 })]).toEqual([[], []]);
  });

  test('may have patterns that are valid only without Unicode mode', () => {
    const schema = object({ a: { pattern: String.raw`^[\w-.]+$` }, b: { pattern: String.raw`^\p{L}$` } });
    expect(issuesOf(schema, { a: 'x-y.z', b: 'é' })).toEqual([]);
    expect(issuesOf(schema, { a: '!', b: '1' })).toHaveLength(2);
  });

  test('judges own properties only', () => {
    const schema: JsonObject = { type: 'object', required: ['constructor', '__proto__', 'toString'] };
    expect(issuesOf(schema, {})).toHaveLength(3);
    expect(issuesOf(schema, JSON.parse('{"constructor":1,"__proto__":1,"toString":1}'))).toEqual([]);
    expect(issuesOf(object({ constructor: { type: 'string' } }), {})).toEqual([]);
  });

  test('that is closed treats __proto__ as a key', () => {
    const schema = object({ a: {} }, { additionalProperties: false });
    expect(issuesOf(schema, JSON.parse('{"__proto__": 1}'))).toEqual([
      { path: ['__proto__'], message: 'is not a known property' },
    ]);
  });

  test('follows references within itself', () => {
    const schema = object({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'number' } } });
    expect(issuesOf(schema, { a: 'x' })).toMatchObject([{ path: ['a'] }]);
    const older = object({ a: { $ref: '#/definitions/b' } }, { definitions: { b: { type: 'number' } } });
    expect(issuesOf(older, { a: 'x' })).toMatchObject([{ path: ['a'] }]);
  });

  test('reports ten thousand issues, and no more than twenty thousand', () => {
    const schema = object({ list: { type: 'array', items: { type: 'number' } } });
    expect(issuesOf(schema, { list: Array.from({ length: 10_000 }, String) })).toHaveLength(10_000);
    expect(issuesOf(schema, { list: Array.from({ length: 30_000 }, String) })).toHaveLength(20_000);
  });
});

test.each<[string, JsonObject, unknown, JsonObject]>([
  ['required', { required: ['a'] }, {}, { path: ['a'], message: 'is required' }],
  [
    'dependentRequired',
    { dependentRequired: { a: ['b'] } },
    { a: 1 },
    { path: ['b'], message: 'is required' },
  ],
  [
    'unevaluatedProperties',
    { unevaluatedProperties: false },
    { b: 1 },
    { path: ['b'], message: 'is not a known property' },
  ],
  [
    'type',
    object({ a: { type: 'number' } }),
    { a: null },
    { path: ['a'], message: 'must be number, not null' },
  ],
  [
    'enum',
    object({ a: { enum: ['x', 'y'] } }),
    { a: 'z' },
    { path: ['a'], message: 'must be one of ["x","y"]' },
  ],
  [
    'several types',
    object({ a: { type: ['number', 'null'] } }),
    { a: 'z' },
    { path: ['a'], message: 'must be number or null, not string' },
  ],
  ['const', object({ a: { const: 'x' } }), { a: 'z' }, { path: ['a'], message: 'must be "x"' }],
  ['minimum', object({ a: { minimum: 3 } }), { a: 1 }, { path: ['a'], message: 'must be >= 3' }],
  [
    'a key with a slash and a tilde',
    object({ 'a/b~c': { type: 'number' } }),
    { 'a/b~c': 'x' },
    { path: ['a/b~c'], message: 'must be number, not string' },
  ],
  [
    'a key that looks like an index',
    object({ a: object({ 0: { type: 'number' } }) }),
    { a: { 0: 'x' } },
    { path: ['a', '0'], message: 'must be number, not string' },
  ],
  [
    'an index',
    object({ a: { items: { type: 'number' } } }),
    { a: [1, 'x'] },
    { path: ['a', 1], message: 'must be number, not string' },
  ],
])('an issue of %s says where and what', (_, schema, value, issue) => {
  expect(issuesOf(schema, value)).toEqual([issue]);
});
