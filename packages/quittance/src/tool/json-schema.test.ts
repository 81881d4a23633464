/* oxlint-disable unicorn/no-thenable -- `then` is a word of JSON Schema */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { compileJsonSchema, compileSchema } from './schema.ts';

const issuesOf = (schema: JsonObject, value: unknown): unknown => compileJsonSchema(schema)(value);
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});

describe('a JSON Schema', () => {
  test('a JSON Schema of draft 2020-12, 2019-09, 07 and 06 is supported', () => {
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

  test('a JSON Schema of draft 07 may list the items of a tuple', () => {
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
    ['$recursiveRef', { $recursiveRef: '#', $recursiveAnchor: true }],
    ['unevaluatedItems', { contains: { type: 'number' }, unevaluatedItems: false }],
    ['unevaluatedItems', { allOf: [{ items: [true] }], unevaluatedItems: false }],
    ['unevaluatedProperties', { if: { required: ['a'] }, else: true, unevaluatedProperties: false }],
    [
      'unevaluatedProperties',
      { allOf: [{ if: { required: ['a'] }, then: true }], unevaluatedProperties: false },
    ],
  ])('a JSON Schema of draft 2019-09 is rejected if %s could not be judged', (keyword, schema) => {
    const $schema = 'https://json-schema.org/draft/2019-09/schema';
    expect(() => compileJsonSchema({ $schema, ...schema })).toThrow(`"${keyword}"`);
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
    [{ type: 'object', properties: { a: { $dynamicAnchor: 'a', $dynamicRef: '#a' } } }],
    [{ $ref: 'a', $defs: { a: { $id: 'a', $ref: 'b' }, b: { $id: 'b', allOf: [{ $ref: 'a' }] } } }],
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

  test('a JSON Schema that is closed treats __proto__ as a key', () => {
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

/** The schema, with a part that makes the evaluator check it. */
const evaluated = (schema: JsonObject): JsonObject => ({ ...schema, $defs: { other: { $id: 'other' } } });

describe('the evaluator', () => {
  test.each<[string, JsonObject, readonly JsonValue[], readonly JsonValue[]]>([
    [
      'items of a branch are evaluated if it accepted',
      {
        anyOf: [{ prefixItems: [{ type: 'number' }] }, { prefixItems: [{ type: 'string' }, true] }],
        unevaluatedItems: false,
      },
      [[], [1], ['a', 1]],
      [
        [1, 1],
        ['a', 1, 1],
      ],
    ],
    [
      'items that contain something are evaluated',
      { contains: { type: 'number' }, unevaluatedItems: { type: 'string' } },
      [[1], [1, 'a']],
      [[1, true], []],
    ],
    [
      'properties of a condition are evaluated',
      {
        if: { required: ['a'], properties: { a: { type: 'number' } } },
        unevaluatedProperties: false,
      },
      [{}, { a: 1 }],
      [{ b: 1 }, { a: 'a' }, { a: 1, b: 1 }],
    ],
    [
      'properties of a negation are not',
      { not: { not: { properties: { a: true } } }, unevaluatedProperties: false },
      [{}],
      [{ a: 1 }],
    ],
    [
      'a dynamic reference leads to the outermost anchor',
      {
        $id: 'https://example.com/closed',
        $dynamicAnchor: 'node',
        $ref: 'tree',
        unevaluatedProperties: false,
        $defs: {
          tree: {
            $id: 'tree',
            $dynamicAnchor: 'node',
            properties: { data: true, children: { items: { $dynamicRef: '#node' } } },
          },
        },
      },
      [{ data: 1, children: [{ data: 2 }] }],
      [{ daat: 1 }, { children: [{ daat: 1 }] }],
    ],
    [
      'dependent schemas and property names count',
      evaluated({ dependentSchemas: { a: { required: ['b'] } }, propertyNames: { maxLength: 1 } }),
      [{}, { b: 1 }, { a: 1, b: 1 }],
      [{ a: 1 }, { ab: 1 }],
    ],
    [
      'own properties decide',
      evaluated({ properties: { constructor: { type: 'number' } }, required: ['toString'] }),
      [{ toString: 1 }, { toString: 1, constructor: 1 }],
      [{}, { toString: 1, constructor: 'a' }],
    ],
  ])('%s', (_, schema, right, wrong) => {
    for (const value of right) expect([value, issuesOf(schema, value)]).toEqual([value, []]);
    for (const value of wrong) expect([value, issuesOf(schema, value)]).not.toEqual([value, []]);
  });

  test('names the path of each problem', () => {
    const item = { properties: { id: { type: 'integer' } }, required: ['id'], unevaluatedProperties: false };
    const schema = evaluated(object({ rows: { type: 'array', items: item } }));
    expect(issuesOf(schema, { rows: [{ id: 'x' }, { nr: 1 }] })).toEqual([
      { path: ['rows', 0, 'id'], message: 'must be integer, not string' },
      { path: ['rows', 1, 'id'], message: 'is required' },
      { path: ['rows', 1, 'nr'], message: 'is not a known property' },
    ]);
  });

  test('follows hundreds of references in a row, and says of thousands that they are too many', () => {
    const chain = (length: number): JsonObject => ({
      ...object({ a: { $ref: '#/$defs/d0' } }),
      $defs: Object.fromEntries(
        Array.from({ length }, (_, index) => [
          `d${index}`,
          index + 1 === length ? { type: 'string' } : { allOf: [{ $ref: `#/$defs/d${index + 1}` }] },
        ]),
      ),
    });
    expect(issuesOf(chain(400), { a: 'a' })).toEqual([]);
    expect(issuesOf(chain(400), { a: 1 })).toHaveLength(1);
    expect(() => compileSchema(chain(20_000), { what: 'input', tool: 't' })).toThrow(
      'too many references follow each other',
    );
  });

  const node = (inner: JsonObject): JsonObject => ({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...object({ a: { $ref: '#/$defs/n' } }),
    $defs: { n: inner, enum: inner },
  });
  const again = { properties: { n: { $ref: '#/$defs/n' } } };
  test.each<[string, JsonObject]>([
    ['twice', node({ properties: { n: { allOf: [{ $ref: '#/$defs/n' }, { $ref: '#/$defs/n' }] } } })],
    ['in every branch', node({ oneOf: [again, { ...again, required: ['b'] }, { ...again, type: 'array' }] })],
    ['by a property and a pattern', node({ ...again, patternProperties: { n: { $ref: '#/$defs/n' } } })],
    [
      'through a schema whose name is a keyword',
      node({ properties: { n: { allOf: [{ $ref: '#/$defs/enum' }, { $ref: '#/$defs/n' }] } } }),
    ],
    [
      'in an older draft',
      { ...node({ allOf: [again, again] }), $schema: 'http://json-schema.org/draft-07/schema#' },
    ],
    ['where the evaluator checks', node({ allOf: [again, again], unevaluatedProperties: false })],
  ])('a schema that refers to itself %s never hangs: a deep value is refused', (_, schema) => {
    const deep = (levels: number): JsonObject => {
      let value: JsonObject = {};
      for (let level = 0; level < levels; level++) value = { n: value };
      return { a: value };
    };
    const compiled = compileSchema(schema, { what: 'input', tool: 't' });
    expect(compiled.check(deep(4))).toMatchObject({ ok: true });
    expect(compiled.check(deep(200))).toMatchObject({
      ok: false,
      issues: [{ path: [], message: expect.stringContaining('nested too deep') as string }],
    });
    expect(compiled.check(deep(4))).toMatchObject({ ok: true });
  });

  test('a large value may take many steps', () => {
    const parts = Array.from({ length: 60 }, () => ({ $ref: '#/$defs/any' }));
    const schema = object({ rows: { type: 'array', items: { allOf: parts } } });
    const rows = Array.from({ length: 20_000 }, () => 1);
    expect(issuesOf({ ...schema, $defs: { any: {} } }, { rows })).toEqual([]);
  });

  test('references that follow each other may be too many for a value', () => {
    const chain = (length: number): JsonObject => ({
      ...object({ a: { $ref: '#/$defs/d0' } }),
      $defs: Object.fromEntries(
        Array.from({ length }, (_, index) => [
          `d${index}`,
          index + 1 === length
            ? {}
            : { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
        ]),
      ),
    });
    const compiled = compileSchema(chain(60), { what: 'input', tool: 't' });
    expect(compiled.check({ a: 1 })).toMatchObject({ ok: false, issues: [{ path: [] }] });
  });

  test.each(['draft 2020-12', 'draft 2019-09'])(
    'checks members of a schema for which generated code of %s threw',
    (draft) => {
      const $schema = `https://json-schema.org/draft/${draft.slice('draft '.length)}/schema`;
      const inner = {
        oneOf: [{ type: 'string', additionalProperties: { else: false, const: 1 } }],
        patternProperties: { a: false },
      };
      const compiled = compileSchema(
        { $schema, ...object({ v: { allOf: [inner] } }) },
        { what: 'input', tool: 't' },
      );
      expect(JSON.stringify(compiled.check({ v: { a: [] } }))).toContain('schema is false');
      expect(compiled.check({ v: 'text' })).toMatchObject({ ok: true });
    },
  );

  test('judges as Ajv does where Ajv is right', () => {
    const { schema: schemas } = fc.letrec<{ schema: JsonValue }>((tie) => {
      const inner = tie('schema') as fc.Arbitrary<JsonValue>;
      const names = fc.dictionary(fc.constantFrom('a', 'b', 'ab'), inner, { maxKeys: 2 });
      const keywords = {
        type: fc.constantFrom('string', 'number', 'integer', 'object', 'array', 'null'),
        const: fc.constantFrom(1, 'a', null),
        minimum: fc.integer({ min: -1, max: 2 }),
        maxLength: fc.nat(2),
        minItems: fc.nat(2),
        required: fc.uniqueArray(fc.constantFrom('a', 'b')),
        properties: names,
        patternProperties: names,
        additionalProperties: inner,
        propertyNames: inner,
        dependentSchemas: names,
        prefixItems: fc.array(inner, { minLength: 1, maxLength: 2 }),
        items: inner,
        contains: inner,
        allOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
        anyOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
        oneOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
        not: inner,
        if: inner,
        then: inner,
        else: inner,
      };
      const one = Object.entries(keywords).map(([key, value]) =>
        fc.record({ [key]: value as fc.Arbitrary<JsonValue> }),
      );
      return {
        schema: fc.oneof(
          { maxDepth: 3 },
          fc.boolean(),
          fc.tuple(fc.oneof(...one), fc.oneof(...one)).map(([left, right]) => ({ ...left, ...right })),
        ),
      };
    });
    const leaf = fc.constantFrom<JsonValue>(null, true, 0, 1, 1.5, '', 'a', 'abc');
    const value = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'ab'), fc.oneof(leaf, fc.array(leaf, { maxLength: 2 })), {
        noNullPrototype: true,
      }),
    );
    fc.assert(
      fc.property(schemas, fc.array(value, { minLength: 4, maxLength: 6 }), (made, values) => {
        const schema = { allOf: [made] };
        const byAjv = compileJsonSchema(schema);
        const byEvaluator = compileJsonSchema(evaluated(schema));
        for (const each of values) expect(byEvaluator(each).length > 0).toBe(byAjv(each).length > 0);
      }),
      { numRuns: 100 },
    );
  });
});
