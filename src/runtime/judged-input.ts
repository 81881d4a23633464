/**
 * What hooks and rules look at: the arguments as they came, and over them what the schema makes of them. A default the
 * model did not write, or a value the schema changes, is judged as the body gets it; a name it changes is there twice.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { defineMember, isJsonObject, toJson } from '../base/json.ts';

/** The very same object where the schema changes nothing, or gives what JSON cannot hold. */
export function judgedInput(checked: JsonObject, executed: unknown): JsonObject {
  const read = toJson(executed);
  if (!read.ok || !isJsonObject(read.value)) return checked;
  return overlay(checked, read.value) as JsonObject; // an object over an object is one
}

function overlay(below: JsonValue, above: JsonValue): JsonValue {
  if (below === above) return below;
  if (Array.isArray(below) && Array.isArray(above)) return isSameList(below, above) ? below : above;
  if (!isJsonObject(below) || !isJsonObject(above)) return above;
  const merged: { [key: string]: JsonValue } = {};
  let isSame = true;
  for (const [key, value] of Object.entries(below)) {
    const put = Object.hasOwn(above, key) ? overlay(value, above[key] as JsonValue) : value;
    isSame &&= put === value;
    defineMember(merged, key, put);
  }
  for (const [key, value] of Object.entries(above))
    if (!Object.hasOwn(below, key)) {
      isSame = false;
      defineMember(merged, key, value);
    }
  return isSame ? below : merged;
}

const isSameList = (left: readonly JsonValue[], right: readonly JsonValue[]): boolean =>
  left.length === right.length &&
  left.every((item, index) => overlay(item, right[index] as JsonValue) === item);
