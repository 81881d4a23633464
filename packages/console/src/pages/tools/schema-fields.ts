/** A JSON Schema as a list of fields. Details that do not fit are in the full schema below it. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';

export type SchemaField = {
  /** `items[].quantity` */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string | undefined;
};

const deepest = 8;
const mostFields = 200;
const mostChoices = 8;

export function schemaFields(schema: JsonObject): readonly SchemaField[] {
  const fields: SchemaField[] = [];
  addFields(schema, '', 0, fields);
  return fields;
}

function addFields(schema: JsonObject, path: string, depth: number, fields: SchemaField[]): void {
  if (depth > deepest) return;
  const required = new Set(listOf(schema['required']));
  const properties = schema['properties'];
  if (isJsonObject(properties))
    for (const [name, value] of Object.entries(properties)) {
      if (fields.length >= mostFields) return;
      if (!isJsonObject(value)) continue;
      const here = path === '' ? name : `${path}.${name}`;
      const { description } = value;
      fields.push({
        path: here,
        type: describeSchema(value),
        required: required.has(name),
        description: typeof description === 'string' && description !== '' ? description : undefined,
      });
      addFields(value, here, depth + 1, fields);
    }
  const items = schema['items'];
  if (isJsonObject(items)) addFields(items, `${path}[]`, depth + 1, fields);
}

/** `integer, 1 or more`, `list of string`, `"eur" or "usd"`. */
export function describeSchema(schema: JsonObject, depth = 0): string {
  if (depth > deepest) return '…';
  const { $ref, type, items } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? $ref;
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  const choices = listOf(schema['enum']);
  if (choices.length > 0) {
    const shown = choices.slice(0, mostChoices).map((choice) => JSON.stringify(choice));
    return `${shown.join(' or ')}${choices.length > mostChoices ? ` or ${choices.length - mostChoices} more` : ''}`;
  }
  for (const name of ['anyOf', 'oneOf']) {
    const ways = listOf(schema[name]).filter(isJsonObject);
    if (ways.length > 0)
      return [...new Set(ways.map((way) => describeSchema(way, depth + 1)))]
        .slice(0, mostChoices)
        .join(' or ');
  }
  const types = (Array.isArray(type) ? listOf(type) : [type]).filter((word) => typeof word === 'string');
  const words = types.map((word) =>
    word === 'array'
      ? `list of ${isJsonObject(items) ? describeSchema(items, depth + 1) : 'anything'}`
      : word,
  );
  return [words.length === 0 ? 'anything' : words.join(' or '), ...limitsOf(schema)].join(', ');
}

/** Further constraints of a value, by schema keyword. */
const limits: Readonly<Record<string, (value: string | number) => string>> = {
  format: (value) => String(value),
  minimum: (value) => `${value} or more`,
  exclusiveMinimum: (value) => `more than ${value}`,
  maximum: (value) => `${value} or less`,
  exclusiveMaximum: (value) => `less than ${value}`,
  minLength: (value) => `${value} or more characters`,
  maxLength: (value) => `at most ${value} characters`,
  pattern: (value) => `like ${value}`,
  minItems: (value) => `${value} or more`,
  maxItems: (value) => `at most ${value}`,
};
/** Limits at the bounds of safe integers say nothing. */
const said = (value: JsonValue | undefined): value is string | number =>
  typeof value === 'string' || (typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER);

const limitsOf = (schema: JsonObject): readonly string[] =>
  Object.entries(limits).flatMap(([name, describe]) => {
    const value = Object.hasOwn(schema, name) ? schema[name] : undefined;
    return said(value) ? [describe(value)] : [];
  });

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
