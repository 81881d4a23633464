/** Splits fields according to the table: one part for the chained text, one for the body. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { isJsonObject } from '../../../base/json.ts';
import type { Field, FieldTable, Names } from './field.ts';

type Draft = { [name: string]: JsonValue };

/** The two parts of an object. An empty part is undefined. */
export type Parts = { readonly text: Draft | undefined; readonly body: Draft | undefined };

export function encodeFields(fields: FieldTable, source: { readonly [name: string]: unknown }): Parts {
  const parts: { text: Draft | undefined; body: Draft | undefined } = { text: undefined, body: undefined };
  for (const [name, field] of Object.entries(fields)) {
    // Events contain only JSON and undefined.
    const value = source[name] as JsonValue | undefined;
    if (value === undefined || isAbsent(value, field)) continue;
    if (field.fields !== undefined) {
      const inner = encodeFields(field.fields, value as JsonObject);
      (parts.text ??= {})[field.name] = inner.text ?? {};
      if (inner.body !== undefined) (parts.body ??= {})[field.name] = inner.body;
    } else if (field.items !== undefined) {
      const items = (value as readonly JsonObject[]).map((item) =>
        encodeFields(field.items as FieldTable, item),
      );
      (parts.text ??= {})[field.name] = items.map((item) => item.text ?? {});
      if (items.some((item) => item.body !== undefined))
        (parts.body ??= {})[field.name] = items.map((item) => item.body ?? {});
    } else (parts[field.where] ??= {})[field.name] = rename(value, field.inside);
  }
  return parts;
}

/** Renames the members of an object, or of each object of a list. */
export function rename(value: JsonValue, names: Names | undefined): JsonValue {
  if (names === undefined) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => rename(item, names));
  if (!isJsonObject(value)) return value;
  // fromEntries and not assignment: a key may be __proto__.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [Object.hasOwn(names, name) ? names[name] : name, inner]),
  );
}

const isAbsent = (value: JsonValue, { absent }: Field): boolean =>
  Array.isArray(absent) ? Array.isArray(value) && value.length === 0 : value === absent;
