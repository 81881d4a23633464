import { type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readJsonText } from '../base/json.ts';
import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { coerce } from './coerce.ts';
import { valueAt } from './json-edit.ts';
import type { CompiledSchema } from './schema.ts';
import { compileSchema } from './schema.ts';

/** A schema, independent of a dialect. */
type Shape =
  | { readonly kind: 'number' | 'boolean' | 'text' }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[] };
type Field = { readonly key: string; readonly shape: Shape; readonly optional: boolean };
type ObjectShape = Extract<Shape, { kind: 'object' }>;

const plainKeys = ['a', 'b', 'c', '0'];
/** Validators that read inherited members find a value under these; a JSON Schema must not. */
const inheritedKeys = ['constructor', 'toString'];

const objectShapes = (keys: readonly string[]): fc.Arbitrary<ObjectShape> =>
  fc.letrec<{ object: ObjectShape; shape: Shape }>((tie) => ({
    shape: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom<Shape>({ kind: 'number' }, { kind: 'boolean' }, { kind: 'text' }),
      fc.record({ kind: fc.constant('list' as const), of: tie('shape') }),
      tie('object'),
    ),
    object: fc.record({
      kind: fc.constant('object' as const),
      fields: fc.uniqueArray(
        fc.record({ key: fc.constantFrom(...keys), shape: tie('shape'), optional: fc.boolean() }),
        { selector: ({ key }) => key, minLength: 1, maxLength: 4 },
      ),
    }),
  })).object;

/** A value that matches. */
function fitting(shape: Shape): fc.Arbitrary<JsonValue> {
  switch (shape.kind) {
    case 'number':
      return fc
        .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }))
        .map((n) => n + 0);
    case 'boolean':
      return fc.boolean();
    case 'text':
      return fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('5', 'true', '[1]', '{}', 'null', ''));
    case 'list':
      return fc.array(fitting(shape.of), { maxLength: 4 });
    case 'object':
      return fc.record(Object.fromEntries(shape.fields.map(({ key, shape: of }) => [key, fitting(of)])), {
        noNullPrototype: true,
        requiredKeys: shape.fields.filter(({ optional }) => !optional).map(({ key }) => key),
      });
  }
}

/** The same as a model might send it: some parts as text, some lists without their brackets, some extra nulls. */
function mangle(value: JsonValue, shape: Shape, flip: () => boolean, isItem = false): JsonValue {
  switch (shape.kind) {
    case 'number':
    case 'boolean':
      return flip() ? JSON.stringify(value) : value;
    case 'text':
      return value;
    case 'list': {
      const list = (value as readonly JsonValue[]).map((item) => mangle(item, shape.of, flip, true));
      const [only] = list;
      // In a list it may be one of several numbers, and 0 and -1 may mean none and all.
      const isClear = !isItem && shape.of.kind === 'number' && !['0', '-1'].includes(String(Number(only)));
      if (isClear && list.length === 1 && only !== undefined && flip()) return only;
      return flip() ? JSON.stringify(list) : list;
    }
    case 'object': {
      const members: [string, JsonValue][] = [];
      for (const { key, shape: of, optional } of shape.fields) {
        const member = valueAt(value, [key]) as JsonValue | undefined;
        if (member !== undefined) members.push([key, mangle(member, of, flip)]);
        else if (optional && flip()) members.push([key, null]);
      }
      const mangled = Object.fromEntries(members);
      return flip() ? JSON.stringify(mangled) : mangled;
    }
  }
}

function toJsonSchema(shape: Shape): JsonObject {
  switch (shape.kind) {
    case 'number':
    case 'boolean':
      return { type: shape.kind };
    case 'text':
      return { type: 'string' };
    case 'list':
      return { type: 'array', items: toJsonSchema(shape.of) };
    case 'object':
      return {
        type: 'object',
        properties: Object.fromEntries(shape.fields.map(({ key, shape: of }) => [key, toJsonSchema(of)])),
        required: shape.fields.filter(({ optional }) => !optional).map(({ key }) => key),
      };
  }
}

function toZod(shape: Shape): z.ZodType {
  switch (shape.kind) {
    case 'number':
      return z.number();
    case 'boolean':
      return z.boolean();
    case 'text':
      return z.string();
    case 'list':
      return z.array(toZod(shape.of));
    case 'object':
      return z.object(
        Object.fromEntries(
          shape.fields.map(({ key, shape: of, optional }) => [
            key,
            optional ? toZod(of).optional() : toZod(of),
          ]),
        ),
      );
  }
}

function toValibot(shape: Shape): v.GenericSchema {
  switch (shape.kind) {
    case 'number':
      return v.number();
    case 'boolean':
      return v.boolean();
    case 'text':
      return v.string();
    case 'list':
      return v.array(toValibot(shape.of));
    case 'object':
      return v.object(
        Object.fromEntries(
          shape.fields.map(({ key, shape: of, optional }) => [
            key,
            optional ? v.optional(toValibot(of)) : toValibot(of),
          ]),
        ),
      );
  }
}

function toArktype(shape: Shape): type.Any {
  switch (shape.kind) {
    case 'number':
      return type('number');
    case 'boolean':
      return type('boolean');
    case 'text':
      return type('string');
    case 'list':
      return toArktype(shape.of).array();
    case 'object':
      return type.raw(
        Object.fromEntries(
          shape.fields.map(({ key, shape: of, optional }) => [optional ? `${key}?` : key, toArktype(of)]),
        ),
      );
  }
}

const dialects: readonly (readonly [string, (shape: ObjectShape) => unknown, readonly string[]])[] = [
  ['JSON Schema', toJsonSchema, [...plainKeys, ...inheritedKeys]],
  ['zod', toZod, plainKeys],
  ['valibot', toValibot, plainKeys],
  ['arktype', toArktype, plainKeys],
];

/** Every value that is not a container, with its path. */
function leaves(value: JsonValue, path: JsonPath = []): readonly (readonly [JsonPath, JsonValue])[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner as JsonValue, [...path, isList ? Number(key) : key]),
  );
}

const startsWith = (path: JsonPath, start: JsonPath): boolean =>
  start.every((step, index) => path[index] === step);

/** True if the shape requires text. */
function wantsText(shape: Shape, path: JsonPath): boolean {
  const [step, ...rest] = path;
  if (step === undefined) return shape.kind === 'text';
  if (shape.kind === 'list') return wantsText(shape.of, rest);
  if (shape.kind !== 'object') return false;
  const field = shape.fields.find(({ key }) => key === step);
  return field !== undefined && wantsText(field.shape, rest);
}

describe.each(dialects)('coercion under any schema of %s', (_, toSchema, keys) => {
  const compile = (shape: ObjectShape): CompiledSchema =>
    compileSchema(toSchema(shape), { what: 'input', tool: 't' });

  test('repairs everything that the rules can have made of a matching value', async () => {
    const cases = objectShapes(keys).chain((shape) =>
      fc.record({ shape: fc.constant(shape), value: fitting(shape), flips: fc.infiniteStream(fc.boolean()) }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, value, flips }) => {
        const schema = compile(shape);
        const flip = (): boolean => flips.next().value === true;
        let sent = mangle(value, shape, flip);
        if (typeof sent === 'string') sent = JSON.parse(sent) as JsonObject;
        const result = await coerce(sent as JsonObject, schema);
        expect(result).toMatchObject({ ok: true });
        if (!result.ok) return;
        expect(readJsonText(JSON.stringify(result.input))).toEqual(readJsonText(JSON.stringify(value)));
        expect(await coerce(result.input, schema)).toEqual({ ...result, changes: [] });
      }),
      { numRuns: 150 },
    );
  });

  test('touches only failing values, leaves text alone, never modifies the input and never throws', async () => {
    const anything = fc.dictionary(
      fc.constantFrom(...keys),
      fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>,
      {
        noNullPrototype: true,
      },
    );
    const cases = objectShapes(keys).chain((shape) =>
      fc.record({
        shape: fc.constant(shape),
        sent: fc.oneof(
          anything,
          fc
            .record({ value: fitting(shape), flips: fc.infiniteStream(fc.boolean()) })
            .map(({ value, flips }) => mangle(value, shape, () => flips.next().value === true)),
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, sent: made }) => {
        const sent = (typeof made === 'string' ? JSON.parse(made) : made) as JsonObject;
        const schema = compile(shape);
        const before = JSON.stringify(sent);
        const first = await schema.check(sent);
        const failing = first.ok ? [] : first.issues.map(({ path }) => path);
        const result = await coerce(sent, schema);
        expect(JSON.stringify(sent)).toBe(before);
        if (!result.ok) return;
        expect(await schema.check(result.input)).toMatchObject({ ok: true });
        const untouchable = leaves(sent).filter(
          ([path, value]) =>
            !failing.some((start) => startsWith(path, start)) ||
            (typeof value === 'string' && wantsText(shape, path)),
        );
        for (const [path, value] of untouchable) expect(valueAt(result.input, path)).toBe(value);
      }),
      { numRuns: 150 },
    );
  });
});
