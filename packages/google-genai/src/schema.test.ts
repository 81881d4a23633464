import { expect, test } from 'vitest';
import { fromGoogleSchema } from './schema.ts';

test("Google's dialect is converted to JSON Schema", () => {
  expect(
    fromGoogleSchema({
      type: 'OBJECT',
      description: 'A refund.',
      propertyOrdering: ['to', 'lines'],
      required: ['to'],
      properties: {
        to: { type: 'STRING', minLength: '1', example: 'ada' },
        kind: { type: 'STRING', enum: ['full', 'part'], nullable: true },
        lines: { type: 'ARRAY', minItems: '1', items: { type: 'INTEGER', maximum: 9 } },
        either: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }], nullable: true },
        any: { type: 'TYPE_UNSPECIFIED' },
      },
    }),
  ).toEqual({
    type: 'object',
    description: 'A refund.',
    required: ['to'],
    properties: {
      to: { type: 'string', minLength: 1 },
      kind: { type: ['string', 'null'], enum: ['full', 'part', null] },
      lines: { type: 'array', minItems: 1, items: { type: 'integer', maximum: 9 } },
      either: { anyOf: [{ type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
      any: {},
    },
  });
});

test('a JSON Schema keeps its meaning, and an unknown keyword is not dropped', () => {
  const schema = { type: 'object', properties: { to: { type: ['string', 'null'] } }, required: ['to'] };
  expect(fromGoogleSchema(schema)).toEqual(schema);
  expect(fromGoogleSchema(undefined)).toBeUndefined();
  // The runtime refuses such a schema, or ignores the keyword, as for any schema.
  expect(fromGoogleSchema({ type: 'OBJECT', mustBe: 'paid' })).toEqual({ type: 'object', mustBe: 'paid' });
});
