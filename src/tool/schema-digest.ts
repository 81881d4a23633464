/**
 * The digest that tells whether a tool still has the same input and output.
 *
 * A default may be a function: `z.date().default(() => new Date())`. A validator then writes the current value into
 * the JSON Schema, so every process would have another digest. An approved call would wait forever for a process with
 * the same tool. So the digest includes that there is a default, but not its value. Nothing is lost by that: the
 * accepted value is recorded with its defaults, and people approve exactly that value.
 */
import { digestJson } from '../base/canonical.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

export const digestSchema = (schema: JsonObject): string => digestJson(withoutDefaults(schema));

/** Keywords whose members are schemas under names that the author chooses. */
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
