/** Reverses `encodeFields`. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { QuittanceError } from '../../../base/error.ts';
import { isJsonObject } from '../../../base/json.ts';
import type { UnknownFields } from '../../unknown-event.ts';
import type { Field, FieldTable } from './field.ts';
import { rename } from './encode-fields.ts';

export type DecodedFields = {
  readonly fields: { [name: string]: unknown };
  /** Fields that the table does not name; undefined if there are none. */
  readonly unknown: UnknownFields | undefined;
};

/**
 * `body` is undefined if there is none; `erased` says that there was one. `others` are the names in the text that are
 * not fields. The decoded fields are put into `fields`.
 */
export function decodeFields(
  table: FieldTable,
  text: JsonObject,
  body: JsonObject | undefined,
  erased: boolean,
  others: readonly string[] = [],
  fields: DecodedFields['fields'] = {},
): DecodedFields {
  let inner: [string, UnknownFields][] | undefined;
  let known = 0;
  for (const name in table) {
    const field = table[name] as Field;
    const part = own(field.where === 'text' ? text : body, field.name);
    if (part !== undefined) known++;
    let value: unknown;
    if (part === undefined) value = missing(field, text, erased);
    else if (field.fields === undefined && field.items === undefined) value = rename(part, field.outside);
    else {
      const inBody = own(body, field.name);
      if (inBody !== undefined) known++;
      const decoded =
        field.fields === undefined
          ? decodeItems(field.items as FieldTable, list(part), inBody, erased)
          : decodeFields(
              field.fields,
              object(part),
              inBody === undefined ? undefined : object(inBody),
              erased,
            );
      value = decoded.fields;
      if (decoded.unknown !== undefined) (inner ??= []).push([field.name, decoded.unknown]);
    }
    if (value !== undefined || field.optional !== true) fields[name] = value;
  }
  for (const name of others) if (Object.hasOwn(text, name)) known++;
  const all = countMembers(text) + (body === undefined ? 0 : countMembers(body));
  const unknown =
    all === known && inner === undefined ? undefined : findUnknown(table, text, body, others, inner ?? []);
  return { fields, unknown };
}

/** Counts without building a list of names: there are many events with many fields. */
function countMembers(holder: JsonObject): number {
  let count = 0;
  for (const name in holder) if (Object.hasOwn(holder, name)) count++;
  return count;
}

function decodeItems(
  table: FieldTable,
  items: readonly JsonValue[],
  inBody: JsonValue | undefined,
  erased: boolean,
): { readonly fields: unknown; readonly unknown: UnknownFields | undefined } {
  const bodies = inBody === undefined ? [] : list(inBody);
  const decoded = items.map((item, index) => {
    const body = bodies[index];
    return decodeFields(table, object(item), body === undefined ? undefined : object(body), erased);
  });
  const unknown = decoded.some((item) => item.unknown !== undefined)
    ? {
        text: decoded.map((item) => item.unknown?.text ?? {}),
        body: decoded.map((item) => item.unknown?.body ?? {}),
      }
    : undefined;
  // A list of objects is treated like an object: `encodeEvent` restores both in the same way.
  return { fields: decoded.map((item) => item.fields), unknown: unknown as UnknownFields | undefined };
}

/** The rest after all fields of the table are taken. */
function findUnknown(
  table: FieldTable,
  text: JsonObject,
  body: JsonObject | undefined,
  others: readonly string[],
  inner: readonly [string, UnknownFields][],
): UnknownFields {
  const all = Object.values(table);
  const inText = new Set(all.filter(({ where }) => where === 'text').map(({ name }) => name)).union(
    new Set(others),
  );
  const inBody = new Set(
    all.filter(({ where, fields, items }) => where === 'body' || fields || items).map(({ name }) => name),
  );
  const rest = (holder: JsonObject, known: ReadonlySet<string>): [string, JsonValue][] =>
    Object.entries(holder).filter(([name]) => !known.has(name));
  const found = (part: keyof UnknownFields): [string, JsonValue][] =>
    inner.flatMap(([name, unknown]) => (isEmpty(unknown[part]) ? [] : [[name, unknown[part]]]));
  return {
    text: Object.fromEntries([...rest(text, inText), ...found('text')]),
    body: Object.fromEntries([...rest(body ?? {}, inBody), ...found('body')]),
  };
}

function missing(
  { where, absent, erased }: Field,
  holder: JsonObject,
  isErased: boolean,
): JsonValue | undefined {
  if (!isErased || where === 'text' || erased === undefined) return absent;
  const { value, of, by = 'type' } = erased;
  return of === undefined || of === holder[by] ? value : absent;
}

const isEmpty = (value: JsonValue): boolean =>
  Array.isArray(value)
    ? (value as readonly JsonValue[]).every(isEmpty)
    : isJsonObject(value) && Object.keys(value).length === 0;

const own = (holder: JsonObject | undefined, name: string): JsonValue | undefined =>
  holder !== undefined && Object.hasOwn(holder, name) ? holder[name] : undefined;

function object(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw new QuittanceError(
    'ledger.damaged',
    'An entry of the ledger has another value where an object is required.',
  );
}

function list(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new QuittanceError(
    'ledger.damaged',
    'An entry of the ledger has another value where a list is required.',
  );
}
