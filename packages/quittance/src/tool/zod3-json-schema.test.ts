import { describe, expect, test } from 'vitest';
import { z } from 'zod/v3';
import { compileSchema } from './schema.ts';
import { zod3ToJsonSchema } from './zod3-json-schema.ts';
import { isZod3 } from './zod3-def.ts';

const input = { what: 'input', tool: 'refund' } as const;

/** What TypeScript compiles `enum Level { Low, High }` to. */
const Level = { Low: 0, High: 1, 0: 'Low', 1: 'High' } as const;

test.each([
  ['text with limits', z.string().min(1).max(5), { type: 'string', minLength: 1, maxLength: 5 }],
  ['an e-mail address', z.string().email(), { type: 'string', format: 'email' }],
  ['a pattern', z.string().regex(/^a+$/), { type: 'string', pattern: '^a+$' }],
  ['a pattern with flags', z.string().regex(/^a+$/i), { type: 'string' }],
  ['a whole number', z.number().int().min(0).lt(9), { type: 'integer', minimum: 0, exclusiveMaximum: 9 }],
  ['an enum', z.enum(['a', 'b']), { enum: ['a', 'b'] }],
  ['an enum of TypeScript', z.nativeEnum(Level), { enum: [0, 1] }],
  ['a literal', z.literal('a'), { enum: ['a'] }],
  ['a literal that JSON cannot say', z.literal(5n), {}],
  ['null or text', z.string().nullable(), { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  [
    'a list',
    z.array(z.boolean()).length(2),
    { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 2 },
  ],
  ['a union', z.union([z.string(), z.number()]), { anyOf: [{ type: 'string' }, { type: 'number' }] }],
  ['a record', z.record(z.number()), { type: 'object', additionalProperties: { type: 'number' } }],
  [
    'a tuple',
    z.tuple([z.string()]),
    { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1, items: false },
  ],
  ['a description', z.string().describe('A name.'), { type: 'string', description: 'A name.' }],
  ['a date, which JSON does not have', z.date(), {}],
])('%s', (_, schema, written) => {
  expect(zod3ToJsonSchema(schema, 'input')).toEqual(written);
});

test('an object lists its required members, and what else it accepts', () => {
  const schema = z
    .object({
      a: z.string(),
      b: z.number().optional(),
      c: z.number().default(2),
      d: z.string().trim().brand('d'),
    })
    .strict();
  expect(zod3ToJsonSchema(schema, 'input')).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { type: 'number' },
      c: { type: 'number', default: 2 },
      d: { type: 'string' },
    },
    required: ['a', 'd'],
    additionalProperties: false,
  });
  expect(zod3ToJsonSchema(schema, 'output')).toMatchObject({ required: ['a', 'c', 'd'] });
});

test('a recursive schema refers to itself', () => {
  type Tree = { name: string; children: Tree[] };
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }));
  expect(zod3ToJsonSchema(z.object({ tree }), 'input')).toMatchObject({
    properties: { tree: { $ref: '#/$defs/schema1' } },
    $defs: { schema1: { properties: { children: { items: { $ref: '#/$defs/schema1' } } } } },
  });
});

test('a recursive schema that creates new parts forever comes to an end', () => {
  const endless = (): z.ZodTypeAny => z.lazy(() => z.object({ next: endless() }));
  expect(zod3ToJsonSchema(z.object({ next: endless() }), 'input')).toMatchObject({ type: 'object' });
});

describe('a schema of zod 3 in a tool', () => {
  const schema = z.object({ cents: z.number().transform((cents) => cents * 2), note: z.string().optional() });

  test('is shown to the model and judges the value', async () => {
    const compiled = compileSchema(schema, input);
    expect(compiled.jsonSchema).toMatchObject({
      properties: { cents: { type: 'number' } },
      required: ['cents'],
    });
    expect(await compiled.check({ cents: 5 })).toEqual({ ok: true, value: { cents: 10 } });
    expect(await compiled.check({ cents: '5' })).toMatchObject({ ok: false, issues: [{ path: ['cents'] }] });
  });

  test('works without the Standard Schema interface, as before zod 3.24', async () => {
    const old = Object.create(schema, { '~standard': { value: undefined } }) as object;
    expect(isZod3(old)).toBe(true);
    const compiled = compileSchema(old, input);
    expect(compiled.jsonSchema).toMatchObject({ properties: { cents: { type: 'number' } } });
    expect(await compiled.check({ cents: 5 })).toEqual({ ok: true, value: { cents: 10 } });
    expect(await compiled.check({})).toMatchObject({ ok: false, issues: [{ path: ['cents'] }] });
  });
});
