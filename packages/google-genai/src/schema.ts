/**
 * Converts the schema dialect of Google's APIs to JSON Schema. It writes types in capitals, uses `nullable` instead
 * of a null type, and sends whole numbers as text.
 */
import { isJsonObject } from 'quittance/internal/base/json';

/** Keywords with the same meaning in both. */
const shared = new Set([
  'title',
  'description',
  'default',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'required',
  '$defs',
  '$ref',
  'additionalProperties',
]);
/** Whole numbers, which may be sent as text. */
const counts = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/** A JSON Schema comes back with the same meaning. */
export function fromGoogleSchema(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const isNullable = schema['nullable'] === true;
  const read: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (shared.has(key)) read[key] = value;
    else if (counts.has(key)) read[key] = typeof value === 'string' ? Number(value) : value;
    else if (key === 'type') Object.assign(read, toType(value, isNullable));
    else if (key === 'enum' && Array.isArray(value))
      read['enum'] = isNullable && !value.includes(null) ? [...(value as unknown[]), null] : value;
    else if (key === 'items') read['items'] = fromGoogleSchema(value);
    else if (key === 'anyOf' && Array.isArray(value)) read['anyOf'] = toAnyOf(value, isNullable);
    else if (key === 'properties' && isJsonObject(value))
      read['properties'] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, fromGoogleSchema(property)]),
      );
    // Only for the model: they check no value.
    else if (!['nullable', 'example', 'propertyOrdering'].includes(key)) read[key] = value;
  }
  return read;
}

function toType(type: unknown, isNullable: boolean): { readonly type?: unknown } {
  if (typeof type !== 'string') return { type };
  if (type === 'TYPE_UNSPECIFIED') return {};
  const name = type.toLowerCase();
  return { type: isNullable && name !== 'null' ? [name, 'null'] : name };
}

const toAnyOf = (schemas: readonly unknown[], isNullable: boolean): readonly unknown[] => [
  ...schemas.map(fromGoogleSchema),
  ...(isNullable ? [{ type: 'null' }] : []),
];
