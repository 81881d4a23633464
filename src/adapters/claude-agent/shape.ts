/**
 * The input of a tool of the Claude Agent SDK: a plain object of schemas, one for each argument. Made into one schema
 * here, with no validator at hand, the way the SDK's own would: what the shape does not name is left out.
 */
import { defineMember, isJsonObject } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { StandardSchema } from '../../tool/standard-schema.ts';
import { checkStandard, standardToJsonSchema, toStandardSchema } from '../../tool/standard-schema.ts';
import { isZod3, mayBeMissing } from '../../tool/zod3-json-schema.ts';

type Shape = readonly (readonly [name: string, schema: StandardSchema])[];

/** A schema as the runtime takes it: one made of a shape, or what was given, where that is no shape. */
export function readShape(given: unknown): unknown {
  if (!isJsonObject(given) || toStandardSchema(given) !== undefined) return given;
  const fields: Shape = Object.entries(given).flatMap(([name, field]) => {
    const schema = toStandardSchema(field);
    return schema === undefined ? [] : [[name, schema] as const];
  });
  // An empty shape takes no arguments; the empty JSON Schema would take all.
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
  { readonly value: unknown } | { readonly issues: readonly { message: string; path: PropertyKey[] }[] };

async function check(fields: Shape, value: unknown): Promise<Checked> {
  if (!isJsonObject(value)) return { issues: [{ message: 'must be an object', path: [] }] };
  const checked = {};
  const issues: { message: string; path: PropertyKey[] }[] = [];
  for (const [name, schema] of fields) {
    const result = await checkStandard(schema, ownValue(value, name));
    if (!result.ok)
      issues.push(...result.issues.map(({ message, path }) => ({ message, path: [name, ...path] })));
    else if (result.value !== undefined || Object.hasOwn(value, name))
      defineMember(checked, name, result.value as JsonValue); // what a validator makes of it, JSON or not
  }
  return issues.length > 0 ? { issues } : { value: checked };
}

function toJsonSchema(fields: Shape, what: 'input' | 'output'): JsonObject {
  const properties = {};
  const required: string[] = [];
  for (const [name, schema] of fields) {
    // What cannot be said is left open, as it is inside of schemas.
    const { $schema: _, ...written } = standardToJsonSchema(schema, what) ?? {};
    defineMember(properties, name, moveRefs(written, `#/properties/${toPointer(name)}`));
    if (!takesNothing(schema)) required.push(name);
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** An argument may be left out where its schema takes undefined, as for a default. */
function takesNothing(schema: StandardSchema): boolean {
  // Zod 3 answers later than this is needed.
  if (isZod3(schema)) return mayBeMissing(schema, 'input');
  const result = checkStandard(schema, undefined);
  return 'ok' in result && result.ok;
}

const toPointer = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1'));

/** Values, not schemas: whatever stands in them stays as it is. */
const values = new Set(['const', 'enum', 'default', 'examples']);

/** A schema that speaks of itself as the root has to say where it now stands. */
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
 * The schema as the model is shown it. The program that the SDK starts makes numbers, lists and the like of text where
 * the schema of an argument says so plainly, and then nobody knows what the model wrote; said less plainly, it passes
 * on what it got. Where a schema speaks of its own parts, moving them would break it, so it stays as it is.
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
