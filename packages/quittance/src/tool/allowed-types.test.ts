import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { allowedTypes } from './allowed-types.ts';

const everything = ['null', 'boolean', 'number', 'string', 'array', 'object'];
const typesAt = (schema: JsonValue, path: JsonPath = [], root: JsonValue = {}): readonly string[] => [
  ...allowedTypes(schema, path, root),
];

describe('the types a JSON Schema allows', () => {
  test.each<[string, JsonValue, readonly string[]]>([
    ['true', true, everything],
    ['false', false, []],
    ['an empty schema', {}, everything],
    ['a type', { type: 'string' }, ['string']],
    ['an integer', { type: 'integer' }, ['number']],
    ['several types', { type: ['string', 'null'] }, ['null', 'string']],
    ['a nullable type', { type: 'string', nullable: true }, ['null', 'string']],
    ['a constant', { const: 5 }, ['number']],
    ['choices', { enum: ['a', 1, null] }, ['string', 'number', 'null']],
    ['a type and choices', { type: 'number', enum: ['a', 1] }, ['number']],
    ['allOf', { allOf: [{ type: ['string', 'number'] }, { type: ['number', 'null'] }] }, ['number']],
    ['anyOf', { anyOf: [{ type: 'string' }, { type: 'number' }] }, ['string', 'number']],
    ['oneOf next to a type', { type: 'number', oneOf: [{ type: 'string' }, { type: 'number' }] }, ['number']],
    ['a reference', { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, ['string']],
    [
      'an escaped reference',
      { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'string' } } },
      ['string'],
    ],
    ['a reference to itself', { $ref: '#' }, everything],
    ['a reference elsewhere', { $ref: 'https://example.com/a' }, everything],
    ['a reference to nothing', { $ref: '#/$defs/constructor', $defs: {} }, everything],
    ['a reference that cannot be read', { $ref: '#/%' }, everything],
  ])('the types a JSON Schema allows at the top of %s', (_, schema, types) => {
    expect(typesAt(schema)).toEqual(types);
  });

  test('the types a JSON Schema allows of either branch of a condition', () => {
    const schema: JsonObject = JSON.parse('{"if":{},"then":{"type":"string"},"else":{"type":"number"}}');
    expect(typesAt(schema)).toEqual(['string', 'number']);
  });

  test.each<[string, JsonValue, JsonPath, readonly string[]]>([
    ['a property', { properties: { a: { type: 'string' } } }, ['a'], ['string']],
    ['an inherited name', { properties: {} }, ['constructor'], everything],
    [
      'a property below another',
      { properties: { a: { properties: { b: { type: 'string' } } } } },
      ['a', 'b'],
      ['string'],
    ],
    [
      'a pattern',
      { patternProperties: { '^a': { type: 'string' }, b$: { type: ['string', 'null'] } } },
      ['ab'],
      ['string'],
    ],
    [
      'any other property',
      { properties: { a: {} }, additionalProperties: { type: 'string' } },
      ['b'],
      ['string'],
    ],
    ['no other property', { properties: { a: {} }, additionalProperties: false }, ['b'], []],
    ['an item', { items: { type: 'string' } }, [3], ['string']],
    ['a place in a tuple', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [0], ['string']],
    [
      'a place after a tuple',
      { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      [1],
      ['number'],
    ],
    [
      'a place in a tuple of draft 07',
      { items: [{ type: 'string' }], additionalItems: false },
      [0],
      ['string'],
    ],
    ['a place after a tuple of draft 07', { items: [{ type: 'string' }], additionalItems: false }, [1], []],
    ['a property of a type without properties', { type: 'string' }, ['a'], []],
    ['an item of an object', { type: 'object' }, [0], []],
    [
      'a branch that has properties',
      { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'number' } } }] },
      ['a'],
      ['number'],
    ],
  ])('the types a JSON Schema allows at %s', (_, schema, path, types) => {
    expect(typesAt(schema, path)).toEqual(types);
  });

  test('the types a JSON Schema allows of the branches whose constants match the value', () => {
    const schema = {
      anyOf: [
        { properties: { by: { const: 'id' }, key: { type: 'number' } } },
        { properties: { by: { enum: ['name', 'mail'] }, key: { type: 'string' } } },
      ],
    };
    expect(typesAt(schema, ['key'], { by: 'id', key: '' })).toEqual(['number']);
    expect(typesAt(schema, ['key'], { by: 'mail', key: '' })).toEqual(['string']);
    expect(typesAt(schema, ['key'], { key: '' })).toEqual(['number', 'string']);
    expect(typesAt(schema, ['key'], { by: 5, key: '' })).toEqual([]);
    expect(typesAt(schema, ['by'], { by: 5 })).toEqual(['string']);
  });

  test('are found in a schema that refers to itself a thousand times', () => {
    const doubled = (index: number): JsonObject => ({
      allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }],
    });
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`d${index}`, doubled(index)]));
    const schema = { $ref: '#/$defs/d0', $defs: { ...$defs, d60: { type: 'string' } } };
    expect(typesAt(schema)).toEqual(['string']);
  });
});
