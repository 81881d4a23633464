import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import type { Coercion, CoercionRule } from './coerce.ts';
import { coerce } from './coerce.ts';
import type { CompiledSchema } from './schema.ts';
import { compileSchema } from './schema.ts';

const compile = (schema: unknown): CompiledSchema => compileSchema(schema, { what: 'input', tool: 't' });
const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required,
});

/** One schema in every dialect: numbers, booleans, lists, objects, text and optional fields. */
const dialects: readonly (readonly [string, CompiledSchema])[] = [
  [
    'zod',
    compile(
      z.object({
        n: z.number().optional(),
        b: z.boolean().optional(),
        list: z.array(z.number()).optional(),
        names: z.array(z.string()).optional(),
        o: z.object({ a: z.number() }).optional(),
        s: z.string().optional(),
        either: z.union([z.number(), z.array(z.number())]).optional(),
        kind: z.enum(['x', 'y']).optional(),
        rows: z.array(z.object({ id: z.number(), note: z.string().optional() })).optional(),
      }),
    ),
  ],
  ['valibot', compile(valibotSchema())],
  ['valibot with JSON Schema', compile(toStandardJsonSchema(valibotSchema()))],
  [
    'arktype',
    compile(
      type({
        'n?': 'number',
        'b?': 'boolean',
        'list?': 'number[]',
        'names?': 'string[]',
        'o?': { a: 'number' },
        's?': 'string',
        'either?': 'number | number[]',
        'kind?': "'x' | 'y'",
        'rows?': type({ id: 'number', 'note?': 'string' }).array(),
      }),
    ),
  ],
  [
    'JSON Schema',
    compile(
      object({
        n: { type: 'number' },
        b: { type: 'boolean' },
        list: { type: 'array', items: { type: 'number' } },
        names: { type: 'array', items: { type: 'string' } },
        o: object({ a: { type: 'number' } }, ['a']),
        s: { type: 'string' },
        either: { anyOf: [{ type: 'number' }, { type: 'array', items: { type: 'number' } }] },
        kind: { enum: ['x', 'y'] },
        rows: { type: 'array', items: object({ id: { type: 'integer' }, note: { type: 'string' } }, ['id']) },
      }),
    ),
  ],
];

function valibotSchema() {
  return v.object({
    n: v.optional(v.number()),
    b: v.optional(v.boolean()),
    list: v.optional(v.array(v.number())),
    names: v.optional(v.array(v.string())),
    o: v.optional(v.object({ a: v.number() })),
    s: v.optional(v.string()),
    either: v.optional(v.union([v.number(), v.array(v.number())])),
    kind: v.optional(v.picklist(['x', 'y'])),
    rows: v.optional(v.array(v.object({ id: v.number(), note: v.optional(v.string()) }))),
  });
}

type Mended = Extract<Coercion, { ok: true }>;

const changed = (input: JsonObject, ...changes: readonly (readonly [string, CoercionRule])[]): Mended => ({
  ok: true,
  input,
  value: input,
  changes: changes.map(([path, rule]) => ({ path, rule })),
});

describe.each(dialects)('coercion under %s', (_, schema) => {
  test.each<[string, JsonObject, Mended]>([
    ['a numeric string to a number', { n: '5' }, changed({ n: 5 }, ['$.n', 'numeric_string'])],
    ['a boolean string to a boolean', { b: 'True' }, changed({ b: true }, ['$.b', 'boolean_string'])],
    ['JSON text to a list', { list: '[1,2]' }, changed({ list: [1, 2] }, ['$.list', 'json_string'])],
    ['JSON text to an object', { o: '{"a":1}' }, changed({ o: { a: 1 } }, ['$.o', 'json_string'])],
    ['a single number to a list', { list: 5 }, changed({ list: [5] }, ['$.list', 'single_to_array'])],
    [
      'a single text to a list of text',
      { names: 'ann' },
      changed({ names: ['ann'] }, ['$.names', 'single_to_array']),
    ],
    [
      'null on an optional field to nothing',
      { n: null, s: 'x' },
      changed({ s: 'x' }, ['$.n', 'null_dropped']),
    ],
    [
      'a numeric string to a list of one number',
      { list: '5' },
      changed({ list: [5] }, ['$.list', 'single_to_array'], ['$.list[0]', 'numeric_string']),
    ],
    [
      'numbers in text in JSON text',
      { o: '{"a":"1"}' },
      changed({ o: { a: 1 } }, ['$.o', 'json_string'], ['$.o.a', 'numeric_string']),
    ],
    [
      'a number for a union of number and list',
      { either: '5' },
      changed({ either: 5 }, ['$.either', 'numeric_string']),
    ],
    [
      'a list for a union of number and list',
      { either: '[1]' },
      changed({ either: [1] }, ['$.either', 'json_string']),
    ],
    [
      'several mistakes at once, and only them',
      { n: '1', b: 'false', s: '7', list: [1, '2', 3], kind: 'x' },
      changed(
        { n: 1, b: false, s: '7', list: [1, 2, 3], kind: 'x' },
        ['$.n', 'numeric_string'],
        ['$.b', 'boolean_string'],
        ['$.list[1]', 'numeric_string'],
      ),
    ],
    [
      'objects inside a list of JSON text',
      { rows: ['{"id":"1","note":"5"}', { id: 2, note: null }] },
      changed(
        { rows: [{ id: 1, note: '5' }, { id: 2 }] },
        ['$.rows[0]', 'json_string'],
        ['$.rows[1].note', 'null_dropped'],
        ['$.rows[0].id', 'numeric_string'],
      ),
    ],
    [
      'JSON text wins over a list of that text',
      { names: '["a"]' },
      changed({ names: ['a'] }, ['$.names', 'json_string']),
    ],
  ])('turns %s', async (_title, input, expected) => {
    const before = JSON.stringify(input);
    const result = await coerce(input, schema);
    // Validators report in different orders.
    expect(result).toEqual({ ...expected, changes: expect.arrayContaining([...expected.changes]) });
    expect(result.ok && result.changes).toHaveLength(expected.changes.length);
    expect(JSON.stringify(input)).toBe(before);
    expect(result.ok && result.input).not.toBe(input);
  });

  test.each<[string, JsonObject]>([
    ['a number to text', { s: 5 }],
    ['a boolean to text', { s: true }],
    ['a list to text', { s: ['a'] }],
    ['an object to text', { s: {} }],
    ['words to a number', { n: 'five' }],
    ['an empty string to a number', { n: '' }],
    ['padded digits to a number', { n: ' 12 ' }],
    ['digits that would be lost to a number', { n: '12345678901234567890' }],
    ['JSON text of a scalar to what it holds', { o: '"x"' }],
    ['numbers to booleans', { b: 1 }],
    ['booleans to numbers', { n: true }],
    ['a list of one to its element', { n: [5] }],
    ['text to an object', { o: 'x' }],
    ['JSON text of a list to an object', { o: '[]' }],
    ['a single text to a list of numbers', { list: 'x' }],
    ['a number to a list of text', { names: 5 }],
    ['a boolean to a list', { list: true }],
    ['a word for none to a list', { names: 'none' }],
    ['several words to a list', { names: 'ann | bob' }],
    ['-1 to a list', { list: -1 }],
    ['null in a list to nothing', { list: [1, null] }],
    ['null on a required field to nothing', { o: { a: null } }],
    ['a missing field to something', { o: {} }],
    ['a word to a choice in another case', { kind: 'X' }],
    ['one mistake when another stays', { n: '5', s: 5 }],
  ])('never turns %s', async (_title, input) => {
    const before = JSON.stringify(input);
    const result = await coerce(input, schema);
    expect(result).toMatchObject({ ok: false });
    expect(!result.ok && result.issues.length).toBeGreaterThan(0);
    expect(JSON.stringify(input)).toBe(before);
  });

  test('answers synchronously', () => {
    expect(coerce({ n: '5' }, schema)).not.toHaveProperty('then');
  });

  test('returns a value that shares nothing with the input', async () => {
    const result = await coerce({ n: '5', rows: [{ id: 1 }] }, schema);
    expect(result).toMatchObject({ ok: true });
    const { input, value } = result as { input: JsonObject; value: { rows: { id: number }[] } };
    for (const row of value.rows) row.id = 99;
    expect(input['rows']).toEqual([{ id: 1 }]);
  });

  test('leaves matching values unchanged', async () => {
    expect(await coerce({ n: 5 }, schema)).toEqual(changed({ n: 5 }));
  });

  test('changes nothing at or below a frozen path', async () => {
    const frozenAt = (...frozenPaths: JsonPath[]): unknown =>
      coerce({ n: '1', o: { a: '2' } }, schema, { frozenPaths });
    expect(await frozenAt()).toMatchObject({ ok: true });
    expect(await frozenAt(['n'])).toMatchObject({ ok: false });
    expect(await frozenAt(['o'])).toMatchObject({ ok: false });
    expect(await frozenAt(['o', 'a'])).toMatchObject({ ok: false });
    expect(await frozenAt([])).toMatchObject({ ok: false });
    expect(await frozenAt(['s'], ['o', 'b'], ['list', 0])).toMatchObject({ ok: true });
  });

  test('repairs ten thousand elements in a handful of checks', async () => {
    let checks = 0;
    const counting: CompiledSchema = {
      ...schema,
      check: (value) => {
        checks++;
        return schema.check(value);
      },
    };
    const result = await coerce(
      { list: Array.from({ length: 10_000 }, (_each, index) => String(index)) },
      counting,
    );
    expect(result).toMatchObject({ ok: true });
    expect(result.ok && result.input['list']).toEqual(
      Array.from({ length: 10_000 }, (_each, index) => index),
    );
    expect(checks).toBeLessThanOrEqual(5);
  });

  test('keeps __proto__ as plain data', async () => {
    const input = JSON.parse('{"n":"5","__proto__":{"n":"7"},"o":"{\\"a\\":1,\\"__proto__\\":{\\"b\\":2}}"}');
    const result = (await coerce(input, schema)) as Mended;
    expect(result).toMatchObject({ ok: true });
    expect(JSON.stringify(result.input)).toBe(
      '{"n":5,"__proto__":{"n":"7"},"o":{"a":1,"__proto__":{"b":2}}}',
    );
    expect(Object.getPrototypeOf(result.input)).toBe(Object.prototype);
    expect(({} as { n?: unknown }).n).toBeUndefined();
  });

  test('keeps lone surrogates', async () => {
    expect(await coerce({ n: '5', s: '\ud800', '\udfff': '1' }, schema)).toMatchObject({
      ok: true,
      input: { n: 5, s: '\ud800', '\udfff': '1' },
    });
  });
});

describe('with a known JSON Schema', () => {
  test.each<[string, JsonObject, JsonValue]>([
    ['text that is too short', { type: 'string', minLength: 10 }, '5'],
    ['text or a number', { type: ['string', 'number'], minLength: 3 }, '5'],
    ['a choice of text and numbers', { enum: ['a', 5] }, '5'],
    [
      'text in a format, or a number',
      { anyOf: [{ type: 'string', format: 'uuid' }, { type: 'number' }] },
      '5',
    ],
    ['text in a format, or a list', { oneOf: [{ type: 'string', format: 'uuid' }, { type: 'array' }] }, 'x'],
    ['text by reference', { $ref: '#/$defs/code' }, '5'],
    ['anything but this', { not: { const: '5' } }, '5'],
  ])('text is not replaced if it is allowed: %s', async (_, property, value) => {
    const schema = compile({
      ...object({ a: property }),
      $defs: { code: { type: ['string', 'integer'], pattern: '^A' } },
    });
    expect(await coerce({ a: value }, schema)).toMatchObject({ ok: false });
  });

  test('a branch of a union counts only if its constants match', async () => {
    const schema = compile({
      anyOf: [
        object({ by: { const: 'id' }, key: { type: 'integer' } }, ['by', 'key']),
        object({ by: { const: 'name' }, key: { type: 'string', minLength: 2 } }, ['by', 'key']),
      ],
    });
    expect(await coerce({ by: 'id', key: '5' }, schema)).toMatchObject({
      ok: true,
      input: { by: 'id', key: 5 },
    });
    expect(await coerce({ by: 'name', key: '5' }, schema)).toMatchObject({ ok: false });
    expect(await coerce({ by: 'other', key: '5' }, schema)).toMatchObject({ ok: false });
  });

  test('a constant sent as text may choose the branch', async () => {
    const schema = compile({
      anyOf: [
        object({ version: { const: 1 }, key: { type: 'integer' } }, ['version', 'key']),
        object({ version: { const: 2 }, key: { type: 'boolean' } }, ['version', 'key']),
      ],
    });
    expect(await coerce({ version: '2', key: true }, schema)).toMatchObject({
      ok: true,
      input: { version: 2 },
    });
  });

  test('a null under an undeclared key is not an optional field', async () => {
    const closed = compile({ ...object({ a: { type: 'number' } }), additionalProperties: false });
    expect(await coerce({ a: 1, b: null }, closed)).toMatchObject({ ok: false });
    const unevaluated = compile({ ...object({ a: { type: 'number' } }), unevaluatedProperties: false });
    expect(await coerce({ a: 1, b: null }, unevaluated)).toMatchObject({ ok: false });
    const ark = compile(type({ '+': 'reject', 'a?': 'number' }));
    expect(await coerce({ a: 1, b: null }, ark)).toMatchObject({ ok: false });
  });

  test.each<[string, JsonObject]>([
    ['additionalProperties', { type: 'object', additionalProperties: { type: 'number' } }],
    ['patternProperties', { type: 'object', patternProperties: { '^k': { type: 'number' } } }],
    ['allOf', { type: 'object', allOf: [object({ key: { type: 'number' } }), object({ other: {} })] }],
    [
      'if and then',
      JSON.parse('{"type":"object","if":{},"then":{"properties":{"key":{"type":"number"}}},"else":false}'),
    ],
    [
      'a recursive reference',
      {
        ...object({ key: { $ref: '#/$defs/n' } }),
        $defs: { n: { allOf: [{ $ref: '#/$defs/m' }] }, m: { type: 'number' } },
      },
    ],
  ])('numbers are repaired under %s', async (_, schema) => {
    expect(await coerce({ key: '5' }, compile(schema))).toMatchObject({ ok: true, input: { key: 5 } });
  });

  test('tuples are repaired item by item', async () => {
    const schema = compile(
      object({
        pair: {
          prefixItems: [{ type: 'number' }, { type: 'string', minLength: 2 }],
          items: { type: 'boolean' },
        },
      }),
    );
    expect(await coerce({ pair: ['1', '22', 'true'] }, schema)).toMatchObject({
      ok: true,
      input: { pair: [1, '22', true] },
    });
    expect(await coerce({ pair: ['1', '2'] }, schema)).toMatchObject({ ok: false });
  });
});

describe('a value of an allowed type', () => {
  const upTo = (most: number) => v.pipe(v.number(), v.maxValue(most));
  test.each<[string, unknown, JsonValue]>([
    ['valibot: a number that is too large', v.union([upTo(5000), v.array(v.number())]), 9000],
    ['valibot: under optional', v.optional(v.union([upTo(5000), v.array(v.number())])), 9000],
    ['valibot: under nullable', v.nullable(v.union([v.array(v.number()), upTo(5000)])), 9000],
    ['valibot: text in a format', v.union([v.pipe(v.string(), v.uuid()), v.number()]), '12'],
    ['valibot: a choice', v.union([v.picklist(['a', 'b']), v.array(v.string())]), 'c'],
    ['valibot: a constant', v.union([v.literal('a'), v.boolean()]), 'true'],
    [
      'valibot: a part that is not examined',
      v.union([v.lazy(() => v.literal('a')), v.array(v.string())]),
      'c',
    ],
    ['valibot: a check of its own', v.custom((value) => Array.isArray(value)), 'c'],
    ['valibot: a date', v.union([v.date(), v.array(v.string())]), 'c'],
    ['zod: a number that is too large', z.union([z.number().max(5000), z.array(z.number())]), 9000],
    ['zod: a date', z.union([z.date(), z.array(z.string())]), 'c'],
    ['arktype: a number that is too large', type('number <= 5000 | number[]'), 9000],
  ])('is not replaced under %s', async (title, part, value) => {
    const wrapped = title.startsWith('zod')
      ? z.object({ a: part as z.ZodType })
      : title.startsWith('valibot')
        ? v.object({ a: part as v.GenericSchema })
        : type({ a: part as type.Any });
    expect(await coerce({ a: value }, compile(wrapped))).toMatchObject({ ok: false });
  });
});

describe('a list is asked for again', () => {
  const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
  test.each<[string, JsonObject, JsonValue, string]>([
    [
      'text for a list of text',
      list({ type: 'string' }),
      'a and b',
      'send a JSON array, such as ["first", "second"], or [] for none',
    ],
    [
      'a word for none',
      list({ type: 'string' }),
      'N/A',
      'send a JSON array, such as ["first", "second"], or [] for none',
    ],
    ['a number for none', list({ type: 'integer' }), 0, 'send a JSON array, such as [1, 2], or [] for none'],
    ['a boolean', list({ type: 'object' }), false, 'send a JSON array, or [] for none'],
    [
      'a list for a list of lists',
      list(list({ type: 'number' })),
      [1, 2],
      'send a JSON array, such as [1, 2], or [] for none',
    ],
    [
      'JSON text of a list for a list of lists',
      list(list({ type: 'number' })),
      '[1, 2]',
      'send a JSON array',
    ],
    ['one number for a list of lists', list(list({ type: 'number' })), 5, 'send a JSON array'],
    [
      'a word where a boolean is allowed',
      { anyOf: [list({ type: 'string' }), { type: 'boolean' }] },
      'ann',
      'send a JSON array',
    ],
  ])('a list is asked for again with a hint: %s', async (_, property, value, hint) => {
    const result = await coerce({ a: value }, compile(object({ a: property })));
    expect(result).toMatchObject({ ok: false });
    expect(result.ok ? [] : result.issues.map(({ message }) => message)).toContainEqual(
      expect.stringContaining(hint),
    );
  });

  test('but a plain word where null is allowed too becomes a list', async () => {
    const schema = compile(object({ a: { anyOf: [list({ type: 'string' }), { type: 'null' }] } }));
    expect(await coerce({ a: 'ann' }, schema)).toMatchObject({ ok: true, input: { a: ['ann'] } });
  });
});

describe('without a known JSON Schema', () => {
  test('nothing is changed, because the value may be of an allowed type', async () => {
    const validate = (value: unknown): unknown =>
      typeof (value as { n: unknown }).n === 'number'
        ? { value }
        : { issues: [{ message: 'no', path: ['n'] }] };
    const unknown = compile({ '~standard': { version: 1, vendor: 'odd', validate } });
    expect(await coerce({ n: '5' }, unknown)).toMatchObject({ ok: false });
  });

  test('no array is made for a validator that accepts one as an object', async () => {
    const schema = compile(v.object({ filter: v.object({ name: v.optional(v.string()) }) }));
    expect(schema.check({ filter: ['x'] })).toMatchObject({ ok: true });
    expect(await coerce({ filter: 'x' }, schema)).toMatchObject({ ok: false });
    expect(await coerce({ filter: '["x"]' }, schema)).toMatchObject({ ok: false });
    expect(await coerce({ filter: '{"name":"x"}' }, schema)).toMatchObject({ ok: true });
  });

  test('a number that is still out of range stays text', async () => {
    const schema = compile(v.object({ n: v.pipe(v.number(), v.minValue(10)) }));
    expect(await coerce({ n: '5' }, schema)).toMatchObject({ ok: false });
    expect(await coerce({ n: '15' }, schema)).toMatchObject({ ok: true, input: { n: 15 } });
  });
});

describe('a validator', () => {
  const odd = (validate: (value: unknown) => unknown): CompiledSchema =>
    compile({
      '~standard': { version: 1, vendor: 'odd', validate, jsonSchema: { input: () => anyNumbers } },
    });
  const anyNumbers = { type: 'object', additionalProperties: { type: 'number' } };

  test('may answer later', async () => {
    const schema = compile(z.object({ n: z.number().refine(async (n) => n > 1) }));
    expect(await coerce({ n: '5' }, schema)).toEqual(changed({ n: 5 }, ['$.n', 'numeric_string']));
    expect(await coerce({ n: '1' }, schema)).toMatchObject({ ok: false });
  });

  test('a validator that throws, now or later, rejects the value', async () => {
    const always = odd(() => {
      throw new Error('down');
    });
    expect(await coerce({ n: '5' }, always)).toMatchObject({ ok: false });
    const onNumbers = odd((value) => {
      if (typeof (value as { n: unknown }).n === 'number') throw new Error('down');
      return { issues: [{ message: 'no', path: ['n'] }] };
    });
    expect(await coerce({ n: '5' }, onNumbers)).toMatchObject({
      ok: false,
      issues: [{ path: ['n'], message: 'no' }],
    });
  });

  test('a validator that reports a missing path changes nothing', async () => {
    for (const path of [
      ['x'],
      ['n', 'deep'],
      ['constructor'],
      ['__proto__'],
      ['list', 7],
      [],
      [Symbol('n')],
    ]) {
      const schema = odd(() => ({ issues: [{ message: 'no', path }] }));
      expect(await coerce({ n: '5', list: [1] }, schema)).toMatchObject({ ok: false });
    }
  });

  test('a validator that always reports problems does not cause a loop', async () => {
    let checks = 0;
    const schema = odd((value) => {
      checks++;
      return {
        issues: Object.keys(value as object).map((key) => ({ message: String(checks), path: [key] })),
      };
    });
    expect(await coerce({ a: '1', b: 'true', c: '[]', d: 'x', e: null }, schema)).toMatchObject({
      ok: false,
    });
    expect(checks).toBeLessThan(20);
  });

  test('a validator that reports one mistake at a time is followed for sixteen passes', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    const schema = odd((value) => {
      const wrong = keys.find((key) => typeof (value as JsonObject)[key] === 'string');
      return wrong === undefined ? { value } : { issues: [{ message: 'no', path: [wrong] }] };
    });
    const input = (count: number): JsonObject =>
      Object.fromEntries(keys.slice(0, count).map((key) => [key, '1']));
    expect(await coerce(input(16), schema)).toMatchObject({ ok: true });
    expect(await coerce(input(17), schema)).toMatchObject({ ok: false });
  });

  test('transforms once, after the repair', async () => {
    const schema = compile(z.object({ n: z.number().transform((n) => n * 2), since: z.coerce.date() }));
    expect(await coerce({ n: '5', since: '1970-01-01' }, schema)).toEqual({
      ok: true,
      input: { n: 5, since: '1970-01-01' },
      value: { n: 10, since: new Date(0) },
      changes: [{ path: '$.n', rule: 'numeric_string' }],
    });
  });
});

test('JSON text nested deeper than the limit is rejected, not thrown', async () => {
  const deep = `${'['.repeat(400)}${']'.repeat(400)}`;
  let input: JsonValue = deep;
  for (let depth = 0; depth < 200; depth++) input = { a: input };
  const schema = compile({
    type: 'object',
    properties: { a: { anyOf: [{ $ref: '#' }, { type: 'array' }] } },
  });
  expect(await coerce(input as JsonObject, schema)).toMatchObject({ ok: false });
});

test('a value of an allowed type is not changed to satisfy a limit', async () => {
  const schema = compile(
    object({
      n: { anyOf: [{ type: 'number', maximum: 3 }, { type: 'array' }] },
      b: { anyOf: [{ const: true }, { type: 'array' }] },
      s: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'number' }, { type: 'array' }] },
      x: { anyOf: [{ type: 'string', pattern: '^a' }, { type: 'null' }] },
    }),
  );
  for (const input of [{ n: 5 }, { b: false }, { s: '12345' }, { x: 'null' }])
    expect(await coerce(input, schema)).toMatchObject({ ok: false });
});
