import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../packages/quittance/src/base/json.ts';
import { formatPath } from '../../packages/quittance/src/base/json.ts';
import type { FormDraft } from '../../packages/console/src/schema-form/form-draft.ts';
import { readFormDraft, toDraft } from '../../packages/console/src/schema-form/form-draft.ts';
import type { FormField } from '../../packages/console/src/schema-form/form-field.ts';
import { toFormField } from '../../packages/console/src/schema-form/form-field.ts';

const refund: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['order', 'cents', 'lines'],
  properties: {
    order: { type: 'string', minLength: 2, description: 'The order.' },
    cents: { type: 'integer', minimum: 1, maximum: 500 },
    urgent: { type: 'boolean' },
    currency: { anyOf: [{ const: 'eur' }, { const: 'usd' }] },
    note: { type: ['string', 'null'] },
    lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    odd: { anyOf: [{ type: 'string' }, { type: 'number' }] },
  },
  $defs: {
    line: {
      type: 'object',
      required: ['sku'],
      properties: { sku: { type: 'string' }, count: { type: 'number' } },
    },
  },
};

const kinds = (field: FormField): unknown =>
  field.kind === 'object'
    ? Object.fromEntries(field.members.map(({ name, field: inner }) => [name, kinds(inner)]))
    : field.kind === 'list'
      ? [kinds(field.item)]
      : field.kind;

test('a schema becomes fields, and what fits no field is entered as JSON', () => {
  expect(kinds(toFormField(refund))).toEqual({
    order: 'text',
    cents: 'number',
    urgent: 'flag',
    currency: 'choice',
    note: 'text',
    lines: [{ sku: 'text', count: 'number' }],
    odd: 'json',
  });
  // A schema that contains itself ends in a JSON field.
  const endless: JsonObject = { type: 'object', properties: { next: { $ref: '#' } } };
  expect(kinds(toFormField(endless))).toEqual({ next: 'json' });
  const tree: JsonObject = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { child: { $ref: '#/$defs/node' } } } },
  };
  expect(JSON.stringify(kinds(toFormField(tree)))).toContain('json');
});

test('any value survives the form of any schema', () => {
  const schemas = [
    refund,
    {},
    { type: 'string' },
    { type: 'object' },
    { type: 'array', items: refund },
    { enum: [1, 'a', null] },
  ];
  fc.assert(
    fc.property(fc.constantFrom(...schemas), fc.jsonValue(), (schema, value) => {
      const field = toFormField(schema);
      const read = readFormDraft(field, toDraft(field, value as JsonValue));
      // A value may break the schema: then the field says so, and never changes it.
      const found = read.ok ? JSON.stringify(read.value) : undefined;
      expect([JSON.stringify(value), undefined]).toContain(found);
      expect(read.ok || read.problems.length > 0).toBe(true);
    }),
  );
});

const change = (
  value: JsonObject,
  changes: Readonly<Record<string, FormDraft>>,
): ReturnType<typeof readFormDraft> => {
  const field = toFormField(refund);
  const draft = toDraft(field, value);
  if (draft.kind !== 'members') throw new Error('The form has no fields.');
  return readFormDraft(field, { ...draft, members: new Map([...draft.members, ...Object.entries(changes)]) });
};
const typed = (text: string): FormDraft => ({ kind: 'typed', text });
const fine = { order: 'A-1', cents: 5, lines: [] };

test('a required object is open, and an optional one is left out', () => {
  const inner: JsonObject = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
  const schema: JsonObject = { type: 'object', required: ['to'], properties: { to: inner, copy: inner } };
  const draft = toDraft(toFormField(schema), {});
  const opened = draft.kind === 'members' ? [...draft.members.values()].map(({ kind }) => kind) : [];
  expect(opened).toEqual(['members', 'left_out']);
});

test('problems name their field, and numbers are never changed silently', () => {
  const problems = (read: ReturnType<typeof readFormDraft>): readonly string[] =>
    read.ok ? [] : read.problems.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  expect(problems(change({}, {}))).toEqual([
    '$.order: This field is required.',
    '$.cents: This field is required.',
    '$.lines: This field is required.',
  ]);
  expect(problems(change({ ...fine, lines: [{}] }, { order: typed('A') }))).toEqual([
    '$.order: Enter at least 2 characters.',
    '$.lines[0].sku: This field is required.',
  ]);
  for (const [text, message] of [
    ['12a', 'Enter a whole number.'],
    ['1.5', 'Enter a whole number.'],
    ['0x10', 'Enter a whole number.'],
    ['', 'Enter a whole number.'],
    ['0', 'Enter 1 or more.'],
    ['501', 'Enter 500 or less.'],
    ['9007199254740993', 'This number is too large to be sent exactly.'],
  ] as const)
    expect(problems(change(fine, { cents: typed(text) }))).toEqual([`$.cents: ${message}`]);
  expect(change(fine, { cents: typed('42') })).toEqual({ ok: true, value: { ...fine, cents: 42 } });
});

test('an optional field stays left out, null stays null, and members without a field are kept', () => {
  const value = { ...fine, note: null, extra: { deep: [1] } };
  expect(change(value, {})).toEqual({ ok: true, value });
  expect(change(value, { note: { kind: 'left_out' } })).toEqual({
    ok: true,
    value: { ...fine, extra: { deep: [1] } },
  });
});

test('text with characters that cannot be seen is shown as JSON escapes', () => {
  const field = toFormField({ type: 'string' });
  expect(toDraft(field, 'pay\u202Eeve')).toEqual({ kind: 'json', text: String.raw`"pay\u202eeve"` });
  expect(toDraft(field, 'two\nlines')).toEqual({ kind: 'typed', text: 'two\nlines' });
});
