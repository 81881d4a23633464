import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { isQuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CompiledSchema } from './schema.ts';
import { compileSchema, isPlainSchema, jsonSchema } from './schema.ts';

const input = { what: 'input', tool: 'refund' } as const;
const output = { what: 'output', tool: 'refund' } as const;

const written = {
  type: 'object',
  properties: { amount: { type: 'number' }, lines: { type: 'array', items: { type: 'string' } } },
  required: ['amount'],
};

const vendors: readonly (readonly [string, unknown])[] = [
  ['zod', z.object({ amount: z.number(), lines: z.array(z.string()).optional() })],
  ['valibot', v.object({ amount: v.number(), lines: v.optional(v.array(v.string())) })],
  ['arktype', type({ amount: 'number', 'lines?': 'string[]' })],
  ['json-schema', written],
];

function refusal(make: () => unknown): string {
  try {
    make();
    return 'nothing was thrown';
  } catch (error) {
    return isQuittanceError(error, 'config.invalid') ? error.message : `something else: ${String(error)}`;
  }
}

describe.each(vendors)('a schema of %s', (vendor, schema) => {
  const compiled = compileSchema(schema, input);

  test('names its validator', () => {
    expect(compiled.vendor).toBe(vendor);
    expect(Object.isFrozen(compiled)).toBe(true);
  });

  test('answers synchronously, with the value', () => {
    expect(compiled.check({ amount: 1, lines: ['a'] })).toEqual({
      ok: true,
      value: { amount: 1, lines: ['a'] },
    });
  });

  test('reports every failing path, with indexes as numbers', async () => {
    const result = await compiled.check({ amount: '1', lines: ['a', 2] });
    const issues = result.ok ? [] : result.issues;
    expect(issues).toHaveLength(2);
    expect(issues.map(({ path }) => path)).toEqual(expect.arrayContaining([['amount'], ['lines', 1]]));
    for (const { message } of issues) expect(message).not.toBe('');
  });

  test('reports the path of a missing value', () => {
    expect(compiled.check({})).toMatchObject({ ok: false, issues: [{ path: ['amount'] }] });
  });

  test('reads own properties only', () => {
    const inherits = JSON.parse('{"__proto__": {"amount": 1}}');
    expect(compiled.check(inherits)).toMatchObject({ ok: false });
  });

  test('never throws, for any input', () => {
    for (const odd of [
      undefined,
      null,
      1,
      'x',
      [],
      () => 0,
      Symbol('x'),
      10n,
      new Map(),
      Object.create(null),
    ]) {
      expect(compiled.check(odd)).toMatchObject({ ok: false });
    }
  });
});

describe('the JSON Schema of a schema', () => {
  test("is zod's own, from the interface or from the method", () => {
    const schema = z.object({ amount: z.number() });
    const expected = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
    expect(compileSchema(schema, input).jsonSchema).toMatchObject(expected);
    const older = {
      '~standard': { version: 1, vendor: 'zod', validate: schema['~standard'].validate },
      toJSONSchema: schema.toJSONSchema.bind(schema),
    };
    expect(compileSchema(older, input).jsonSchema).toMatchObject(expected);
  });

  test("is arktype's own", () => {
    expect(compileSchema(type({ amount: 'number' }), input).jsonSchema).toMatchObject({
      properties: { amount: { type: 'number' } },
    });
  });

  test("is valibot's own once that is set up, and unknown before", () => {
    const schema = v.object({ amount: v.number() });
    expect(compileSchema(schema, input).jsonSchema).toBeUndefined();
    expect(compileSchema(toStandardJsonSchema(schema), input).jsonSchema).toMatchObject({
      properties: { amount: { type: 'number' } },
    });
  });

  test('describes the input type for an input and the output type for an output', () => {
    const schema = z.object({ count: z.string().transform(Number).pipe(z.number()) });
    expect(compileSchema(schema, input).jsonSchema).toMatchObject({
      properties: { count: { type: 'string' } },
    });
    expect(compileSchema(schema, output).jsonSchema).toMatchObject({
      properties: { count: { type: 'number' } },
    });
  });

  test('leaves out inexpressible parts instead of being absent', () => {
    const schema = z.object({ since: z.coerce.date(), amount: z.number() });
    expect(compileSchema(schema, input).jsonSchema).toMatchObject({
      properties: { since: {}, amount: { type: 'number' } },
    });
  });

  test('is an immutable copy', () => {
    const mine = structuredClone(written);
    const compiled = compileSchema(mine, input);
    mine.required.push('reason');
    expect(compiled.jsonSchema).toEqual(written);
    expect(Object.isFrozen(compiled.jsonSchema?.['properties'])).toBe(true);
    expect(compiled.check({ amount: 1 })).toMatchObject({ ok: true });
  });
});

describe('the digest of a schema', () => {
  test('depends on the JSON Schema and not on the order of its keys', () => {
    const { type: kind, ...rest } = written;
    expect(compileSchema({ ...rest, type: kind }, input).digest).toBe(compileSchema(written, input).digest);
    expect(compileSchema({ ...written, required: [] }, input).digest).not.toBe(
      compileSchema(written, input).digest,
    );
  });

  test('the digest of a schema without a JSON Schema is made of the validator, the tool and the field', () => {
    const digest = (place: Parameters<typeof compileSchema>[1]): string =>
      compileSchema(v.object({}), place).digest;
    expect(new Set([digest(input), digest(output), digest({ ...input, tool: 'lookup' })]).size).toBe(3);
    expect(digest(input)).toBe(digest(input));
  });
});

describe('an input schema', () => {
  test.each<[string, unknown]>([
    ['true', true],
    ['an empty schema', {}],
  ])('an input schema that is %s accepts any object', (_, schema) => {
    const compiled = compileSchema(schema, input);
    expect(compiled.jsonSchema).toEqual({ type: 'object', properties: {} });
    expect(compiled.check({ a: 1 })).toEqual({ ok: true, value: { a: 1 } });
    expect(compiled.check([])).toMatchObject({ ok: false });
  });

  test('an input schema that is false accepts nothing', () => {
    expect(compileSchema(false, input).check({})).toMatchObject({ ok: false });
  });

  test('may be a union of objects', () => {
    const union = z.discriminatedUnion('by', [
      z.object({ by: z.literal('id'), id: z.number() }),
      z.object({ by: z.literal('name'), name: z.string() }),
    ]);
    expect(compileSchema(union, input).check({ by: 'id', id: 1 })).toMatchObject({ ok: true });
    const anyOf = {
      anyOf: [{ type: 'object' }, { $ref: '#/$defs/other' }],
      $defs: { other: { type: 'object' } },
    };
    expect(compileSchema(anyOf, input).check({})).toMatchObject({ ok: true });
  });

  test.each<[string, unknown, RegExp]>([
    ['text', { type: 'string' }, /does not say `type: "object"` at the top/],
    ['nothing in particular', { properties: {} }, /does not say `type: "object"` at the top/],
    ['text, by zod', z.string(), /does not accept an object/],
    ['a list, by arktype', type('string[]'), /does not accept an object/],
    ['undefined', undefined, /is undefined\. Expected a Standard Schema/],
    ['null', null, /is null\. Expected/],
    ['a function', () => true, /is a function\. Expected/],
    ['a record of zod fields', { id: z.string() }, /Wrap them in one schema/],
    ['not JSON', { type: 'object', default: 10n }, /is not JSON at \$\.default/],
    [
      'an unknown type',
      { type: 'object', properties: { a: { type: 'strng' } } },
      /not valid JSON Schema draft 2020-12/,
    ],
    ['a keyword of the wrong kind', { type: 'object', required: 'a' }, /not valid JSON Schema .*required/],
    [
      'a broken pattern',
      { type: 'object', properties: { a: { pattern: '[' } } },
      /does not compile.*regular expression/i,
    ],
    [
      'a reference elsewhere',
      { type: 'object', $ref: 'https://example.com/s.json' },
      /can't resolve reference/,
    ],
    [
      'a reference to nothing',
      { type: 'object', properties: { a: { $ref: '#/$defs/b' } } },
      /can't resolve reference/,
    ],
    [
      'an unknown draft',
      { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
      /Expected nothing or one of: draft 2020-12/,
    ],
    ['asynchronous', { $async: true, type: 'object' }, /\$async/],
    [
      'naming __proto__',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"number"}}}'),
      /"__proto__"/,
    ],
  ])('an input schema that is %s is rejected at definition', (_, schema, message) => {
    const said = refusal(() => compileSchema(schema, input));
    expect(said).toMatch(/^The input schema of the tool "refund" /);
    expect(said).toMatch(message);
  });
});

describe('an output schema', () => {
  test('may be of any type', () => {
    expect(compileSchema({ type: 'string' }, output).check('x')).toEqual({ ok: true, value: 'x' });
    expect(compileSchema(z.array(z.number()), output).check([1])).toEqual({ ok: true, value: [1] });
  });

  test('an output schema in JSON Schema judges the JSON form of the value', () => {
    const compiled = compileSchema({ type: 'object', properties: { at: { type: 'string' } } }, output);
    expect(compiled.check({ at: new Date(0), gone: undefined })).toEqual({
      ok: true,
      value: { at: '1970-01-01T00:00:00.000Z' },
    });
    expect(compiled.check({ list: new Map() })).toMatchObject({ ok: false, issues: [{ path: ['list'] }] });
  });

  test('an output schema in a validator judges the value itself', () => {
    const compiled = compileSchema(z.object({ at: z.date() }), output);
    expect(compiled.check({ at: new Date(0) })).toEqual({ ok: true, value: { at: new Date(0) } });
  });
});

describe('a misbehaving validator', () => {
  const made = (validate: unknown): CompiledSchema =>
    compileSchema({ '~standard': { version: 1, vendor: 'odd', validate } }, input);

  test('a misbehaving validator that throws gives an issue', async () => {
    const thrower = made(() => {
      throw new Error('no database');
    });
    const issues = [{ path: [], message: 'The schema itself threw: no database' }];
    const mistake = 'The schema itself threw: no database';
    expect(thrower.check({})).toEqual({ ok: false, issues, mistake });
    await expect(made(() => Promise.reject(new Error('no database'))).check({})).resolves.toEqual({
      ok: false,
      issues,
      mistake,
    });
  });

  test.each([[undefined], [null], [1], ['ok'], [{}], [{ issues: 'no' }], [{ issues: 5 }]])(
    'a misbehaving validator that answers %j gives an issue',
    (answer) => {
      expect(made(() => answer).check({})).toMatchObject({
        ok: false,
        issues: [{ path: [], message: expect.stringMatching(/^The schema answered with/) }],
      });
    },
  );

  test('a misbehaving validator that rejects without a reason gives an issue', () => {
    expect(made(() => ({ issues: [] })).check({})).toMatchObject({ ok: false, issues: [{ path: [] }] });
  });

  test('a misbehaving validator that reports odd issues is read as far as possible', () => {
    const issues = [
      null,
      7,
      { message: 5 },
      { message: 'm', path: 3 },
      { message: 'm', path: [{ key: 'a' }, Symbol('s')] },
    ];
    expect(made(() => ({ issues })).check({})).toEqual({
      ok: false,
      issues: [
        { path: [], message: 'is not valid' },
        { path: [], message: 'is not valid' },
        { path: [], message: 'is not valid' },
        { path: [], message: 'm' },
        { path: ['a', 's'], message: 'm' },
      ],
    });
  });

  test('a misbehaving validator with a getter that throws gives an issue', () => {
    const trap = {
      get issues(): never {
        throw new Error('trap');
      },
    };
    expect(made(() => trap).check({})).toMatchObject({
      ok: false,
      issues: [{ message: expect.stringContaining('trap') }],
    });
  });

  test('a misbehaving validator without a name is unknown', () => {
    const compiled = compileSchema({ '~standard': { version: 1, validate: () => ({ value: 1 }) } }, input);
    expect(compiled).toMatchObject({ vendor: 'unknown', digest: expect.stringMatching(/^sha256:/) });
  });

  test('a misbehaving validator that cannot give its JSON Schema has none', () => {
    const standard = { version: 1, vendor: 'odd', validate: () => ({ value: 1 }) };
    for (const answer of [() => 5, () => null, () => ({ f: () => 0 }), 'x', undefined]) {
      const jsonSchema = { input: answer, output: answer };
      expect(compileSchema({ '~standard': { ...standard, jsonSchema } }, input).jsonSchema).toBeUndefined();
    }
  });
});

test('the result of an async validator is awaited', async () => {
  const schema = z.object({ id: z.string().refine(async (id) => id === 'known', 'no such id') });
  const compiled = compileSchema(schema, input);
  await expect(compiled.check({ id: 'known' })).resolves.toEqual({ ok: true, value: { id: 'known' } });
  await expect(compiled.check({ id: 'other' })).resolves.toEqual({
    ok: false,
    issues: [{ path: ['id'], message: 'no such id' }],
  });
});

test('jsonSchema returns the schema itself', () => {
  expect(jsonSchema<{ amount: number }>(written)).toBe(written);
});

describe('a rejected promise inside a schema', () => {
  const explode = async (): Promise<never> => {
    throw new Error('the registry is down');
  };
  test.each([
    ['a transform of zod 4', z.object({ a: z.string().transform(explode) })],
    ['a check of zod 4', z.object({ a: z.string().refine(explode) })],
    ['a transform of zod 3', z3.object({ a: z3.string().transform(explode) })],
    ['a check of zod 3', z3.object({ a: z3.string().refine(explode) })],
  ])('is an issue, and not an unhandled rejection: %s', async (_, schema) => {
    const unhandled: unknown[] = [];
    const listen = (cause: unknown): void => void unhandled.push(cause);
    process.on('unhandledRejection', listen);
    try {
      const check = await compileSchema(schema, input).check({ a: 'x' });
      expect(JSON.stringify(check)).toContain('the registry is down');
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });
});

describe('a schema that is taken for valid without a look into its draft', () => {
  const names = `title format pattern $ref type enum const default examples required minimum exclusiveMaximum
    multipleOf minLength maxItems minProperties uniqueItems readOnly deprecated $comment $id $anchor contains
    dependencies if $defs items additionalProperties propertyNames not properties definitions anyOf allOf`.split(
    /\s+/,
  );
  const { schema } = fc.letrec<{ schema: JsonValue; part: JsonValue }>((tie) => ({
    schema: fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.boolean(), tie('part')),
    part: fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<JsonValue>('string', 'object', 'other', '', true, 0, 1, -1, 1.5, null),
        fc.array(fc.constantFrom<JsonValue>('string', 'string', 'null', 1), { maxLength: 3 }),
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }),
      ),
      { maxKeys: 3 },
    ),
  }));
  const given = { strict: false, logger: false, validateFormats: false } as const;
  const drafts = [new Ajv(given), new Ajv2019(given), new Ajv2020(given)];

  test('is valid in every draft', () => {
    let plain = 0;
    fc.assert(
      fc.property(schema, (each) => {
        if (!isPlainSchema(each)) return;
        plain++;
        for (const draft of drafts) expect(draft.validateSchema(each as JsonObject)).toBe(true); // ajv takes booleans
      }),
      { numRuns: 3000 },
    );
    expect(plain).toBeGreaterThan(300);
  });

  test.each<JsonObject>([
    { type: ['string', 'string'] },
    { type: 'text' },
    { enum: [] },
    { enum: ['a', 'a'] },
    { enum: [{ a: 1 }] },
    { required: ['a', 'a'] },
    { minLength: -1 },
    { minItems: 1.5 },
    { anyOf: [] },
    { properties: { a: 1 } },
    { items: [{}] },
    { $schema: 'https://json-schema.org/draft/2020-12/schema' },
    { madeUp: 1 },
  ])('%j is left to its draft', (each) => {
    expect(isPlainSchema(each)).toBe(false);
  });
});
