/**
 * The digest that says whether a tool still takes and gives the same.
 *
 * A default may be a function: `z.date().default(() => new Date())`. A validator then writes the value of the moment into
 * the JSON Schema, so every process would have another digest, and an approved call would wait for ever for a process
 * with the same tool. So the digest says that there is a default, not which. Nothing is lost by that: the value that was
 * accepted is on record, defaults included, and that value is what people approve and what runs.
 */
import { digestJson } from '../base/canonical.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

export const digestSchema = (schema: JsonObject): string => digestJson(withoutDefaults(schema));

/** Keywords whose members are schemas under names of the author's choice. */
const named: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'definitions',
  '$defs',
]);
/** Keywords whose values are data: a member named `default` is data too. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'examples', 'required']);

function withoutDefaults(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'default') return [key, true];
      if (data.has(key)) return [key, value];
      if (named.has(key) && isJsonObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each)]))];
      return [key, visit(value)];
    }),
  );
}

function visit(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(visit);
  return isJsonObject(value) ? withoutDefaults(value) : value;
}
