/** Sample arguments: every required field of a JSON Schema, with a value of its type. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';

const deepest = 8;

const samples: Readonly<Record<string, JsonValue>> = { string: '', boolean: false, null: null, array: [] };

export function sampleOf(schema: JsonObject | undefined, depth = 0): JsonValue {
  if (schema === undefined || depth > deepest) return {};
  for (const name of ['const', 'default'])
    if (Object.hasOwn(schema, name) && schema[name] !== undefined) return schema[name];
  const [choice] = listOf(schema['enum']);
  if (choice !== undefined) return choice;
  const way = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].find(isJsonObject);
  if (way !== undefined) return sampleOf(way, depth + 1);
  const type = Array.isArray(schema['type']) ? listOf(schema['type'])[0] : schema['type'];
  if (type === 'number' || type === 'integer') return sampleNumber(schema);
  if (typeof type === 'string' && Object.hasOwn(samples, type)) return samples[type] ?? null;
  return sampleObject(schema, depth);
}

function sampleNumber({ minimum, exclusiveMinimum }: JsonObject): number {
  // The smallest safe integer is not a useful example.
  if (typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER) return minimum;
  return typeof exclusiveMinimum === 'number' && exclusiveMinimum > Number.MIN_SAFE_INTEGER
    ? exclusiveMinimum + 1
    : 0;
}

function sampleObject(schema: JsonObject, depth: number): JsonObject {
  const properties = schema['properties'];
  if (!isJsonObject(properties)) return {};
  const required = new Set(listOf(schema['required']));
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, value]) =>
      required.has(name) && isJsonObject(value) ? [[name, sampleOf(value, depth + 1)]] : [],
    ),
  );
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
