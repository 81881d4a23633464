/** Finds the parts of a JSON Schema that apply to a place in a document, without validating the document. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { YamlLevel } from './yaml-place.ts';

/** Schemas refer to themselves: expressions contain expressions. */
const deepest = 12;

export function schemasAt(root: JsonObject, levels: readonly YamlLevel[]): readonly JsonObject[] {
  let found: readonly JsonObject[] = [root];
  for (const { step, keys } of levels) {
    if (step !== undefined) found = found.flatMap((schema) => stepInto(schema, step));
    found = found.flatMap((schema) => expand(root, schema, keys, 0));
  }
  return found;
}

function stepInto(schema: JsonObject, step: NonNullable<YamlLevel['step']>): readonly JsonObject[] {
  if (step === 'item') return objects(schema['items']);
  const { key } = step;
  const properties = schema['properties'];
  if (isJsonObject(properties) && Object.hasOwn(properties, key)) return objects(properties[key]);
  const patterns = schema['patternProperties'];
  if (isJsonObject(patterns)) {
    const matching = Object.entries(patterns).filter(([pattern]) => new RegExp(pattern, 'u').test(key));
    if (matching.length > 0) return matching.flatMap(([, value]) => objects(value));
  }
  return objects(schema['additionalProperties']);
}

/** The schema itself, and the ones that it refers to or that its conditions select. */
function expand(
  root: JsonObject,
  schema: JsonObject,
  keys: ReadonlyMap<string, string>,
  depth: number,
): readonly JsonObject[] {
  if (depth > deepest) return [];
  const more = (value: JsonValue | undefined): readonly JsonObject[] =>
    objects(value).flatMap((each) => expand(root, each, keys, depth + 1));
  const reference = schema['$ref'];
  const holds = isJsonObject(schema['if']) ? conditionHolds(schema['if'], keys) : undefined;
  return [
    schema,
    ...(typeof reference === 'string' ? more(resolve(root, reference)) : []),
    ...['allOf', 'anyOf', 'oneOf'].flatMap((word) => {
      const list = schema[word];
      return Array.isArray(list) ? list.flatMap((each) => more(each)) : [];
    }),
    ...(holds === false ? [] : more(schema['then'])),
    ...(holds === true ? [] : more(schema['else'])),
  ];
}

/** Compares the values that are known. Undefined if that does not decide. */
function conditionHolds(condition: JsonObject, keys: ReadonlyMap<string, string>): boolean | undefined {
  const properties = condition['properties'];
  if (!isJsonObject(properties)) return undefined;
  let isSure = true;
  for (const [name, schema] of Object.entries(properties)) {
    const value = keys.get(name)?.replaceAll(/^["']|["']$/g, '');
    if (value === undefined || value === '' || !isJsonObject(schema) || !Object.hasOwn(schema, 'const'))
      isSure = false;
    else if (scalarText(schema['const']) !== value) return false;
  }
  return isSure ? true : undefined;
}

function resolve(root: JsonObject, reference: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const name of reference.replace(/^#\/?/, '').split('/')) at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

const objects = (value: JsonValue | undefined): readonly JsonObject[] => (isJsonObject(value) ? [value] : []);

/** A value of the schema as it is written in YAML. */
export const scalarText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);
