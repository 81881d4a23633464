/**
 * The input of a Claude Agent SDK tool: an object with one schema per argument. Combined into one schema here,
 * without a validator, as the SDK does: unknown arguments are dropped.
 */
import { defineMember, isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { StandardSchema } from 'quittance/internal/tool/standard-schema';
import {
  checkStandard,
  standardToJsonSchema,
  toStandardSchema,
} from 'quittance/internal/tool/standard-schema';
import { mayBeMissing } from 'quittance/internal/tool/zod3-json-schema';
import { isZod3 } from 'quittance/internal/tool/zod3-def';

type Shape = readonly (readonly [name: string, schema: StandardSchema])[];

/** A schema for the runtime: made from a shape, or the given value if it is not a shape. */
export function readShape(given: unknown): unknown {
  if (!isJsonObject(given) || toStandardSchema(given) !== undefined) return given;
  const fields: Shape = Object.entries(given).flatMap(([name, field]) => {
    const schema = toStandardSchema(field);
    return schema === undefined ? [] : [[name, schema] as const];
  });
  // An empty shape takes no arguments; the empty JSON Schema would accept all.
  if (fields.length !== Object.keys(given).length) return given;
  const written = (what: 'input' | 'output'): (() => JsonObject) => {
    const schema = toJsonSchema(fields, what);
    return () => schema;
  };
  return {
    '~standard': {
      version: 1,
      vendor: 'claude-agent-sdk',
      validate: (value: unknown) => check(fields, value),
      jsonSchema: { input: written('input'), output: written('output') },
    },
  };
}

type Checked =
  | { readonly value: unknown }
  | { readonly issues: readonly { message: string; path: PropertyKey[] }[] };

async function check(fields: Shape, value: unknown): Promise<Checked> {
  if (!isJsonObject(value)) return { issues: [{ message: 'must be an object', path: [] }] };
  const checked = {};
  const issues: { message: string; path: PropertyKey[] }[] = [];
  for (const [name, schema] of fields) {
    const result = await checkStandard(schema, ownValue(value, name));
    if (!result.ok)
      issues.push(...result.issues.map(({ message, path }) => ({ message, path: [name, ...path] })));
    else if (result.value !== undefined || Object.hasOwn(value, name))
      defineMember(checked, name, result.value as JsonValue); // the validator's output, JSON or not
  }
  return issues.length > 0 ? { issues } : { value: checked };
}

function toJsonSchema(fields: Shape, what: 'input' | 'output'): JsonObject {
  const properties = {};
  const required: string[] = [];
  for (const [name, schema] of fields) {
    // An argument that JSON Schema cannot describe stays open, as inside schemas.
    const { $schema: _, ...written } = standardToJsonSchema(schema, what) ?? {};
    defineMember(properties, name, moveRefs(written, `#/properties/${toPointer(name)}`));
    if (!takesNothing(schema)) required.push(name);
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** An argument is optional if its schema accepts undefined, as with a default. */
function takesNothing(schema: StandardSchema): boolean {
  // Zod 3 answers too late for this.
  if (isZod3(schema)) return mayBeMissing(schema, 'input');
  const result = checkStandard(schema, undefined);
  return 'ok' in result && result.ok;
}

const toPointer = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1'));

/** Values, not schemas: their content stays unchanged. */
const values = new Set(['const', 'enum', 'default', 'examples']);

/** Adjusts references to the root after a schema moved below another. */
function moveRefs(schema: JsonValue, place: string): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => moveRefs(item, place));
  if (!isJsonObject(schema)) return schema;
  const moved = {};
  for (const [key, value] of Object.entries(schema)) {
    const isRef = key === '$ref' && typeof value === 'string' && /^#(?:\/|$)/.test(value);
    defineMember(
      moved,
      key,
      isRef ? place + value.slice(1) : values.has(key) ? value : moveRefs(value, place),
    );
  }
  return moved;
}

/**
 * The schema for the model. The program of the SDK coerces text to numbers, lists and so on if an argument's schema
 * is plain, which hides what the model wrote. A less plain form prevents that. A schema that refers to its own parts
 * stays unchanged, because moving them would break it.
 */
export function shownSchema(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties) || JSON.stringify(schema).includes('"$ref"')) return schema;
  const shown = {};
  for (const [name, property] of Object.entries(properties)) defineMember(shown, name, wrapped(property));
  return { ...schema, properties: shown };
}

function wrapped(property: JsonValue): JsonValue {
  if (!isJsonObject(property) || property['type'] === 'string') return property;
  const { title, description, ...said } = property;
  if (Object.keys(said).length === 0) return property;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    allOf: [said],
  };
}
