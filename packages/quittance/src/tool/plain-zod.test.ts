import { expect, test } from 'vitest';
import { z } from 'zod';
import { isPlainZod } from './schema.ts';

const plain: readonly [string, unknown][] = [
  ['an object of scalars', z.object({ city: z.string(), days: z.number().int().min(1), on: z.boolean() })],
  [
    'optional, nullable and nested parts',
    z.object({ a: z.object({ b: z.array(z.string().nullable()) }).optional() }),
  ],
  ['built-in formats and limits', z.object({ mail: z.email(), name: z.string().min(1).max(9).regex(/^a/) })],
  ['choices', z.object({ a: z.enum(['x', 'y']), b: z.union([z.literal(1), z.null()]) })],
  ['a strict object', z.strictObject({ a: z.string() })],
];

const other: readonly [string, unknown][] = [
  ['a refinement', z.object({ a: z.string().refine(() => true) })],
  ['a check of the whole', z.object({ a: z.string() }).superRefine(() => undefined)],
  ['an asynchronous check', z.object({ a: z.string() }).check(async () => undefined)],
  ['a transform', z.object({ a: z.string().transform((text) => text.length) })],
  ['a preprocessor', z.object({ a: z.preprocess((given) => given, z.string()) })],
  ['a format of the author', z.object({ a: z.stringFormat('mine', () => true) })],
  ['a rewritten text', z.object({ a: z.string().trim() })],
  ['a default', z.object({ a: z.string().default(() => 'x') })],
  ['a fallback', z.object({ a: z.string().catch(() => 'x') })],
  ['a custom type', z.object({ a: z.custom<string>(() => true) })],
  ['a lazy part', z.object({ a: z.lazy(() => z.string()) })],
  ['a date', z.object({ a: z.date() })],
  ['any value', z.object({ a: z.any() })],
  ['a frozen part', z.object({ a: z.array(z.string()).readonly() })],
  [
    'a shape that throws',
    z.object({
      get a(): z.ZodString {
        throw new Error('not yet');
      },
    }),
  ],
  ['another validator', { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } }],
  ['no schema', undefined],
];

test.each(plain)('plain: %s', (_, schema) => {
  expect(isPlainZod(schema)).toBe(true);
});

test.each(other)('not plain: %s', (_, schema) => {
  expect(isPlainZod(schema)).toBe(false);
});

test('a type that contains itself is not plain', () => {
  const tree = z.object({
    name: z.string(),
    get parts() {
      return z.array(tree);
    },
  });
  expect(isPlainZod(tree)).toBe(false);
});
