import type { JsonPath, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

/** One place where two values are not the same. Undefined where one of them has nothing there. */
export type JsonDifference = {
  readonly path: JsonPath;
  readonly a: JsonValue | undefined;
  readonly b: JsonValue | undefined;
};

/**
 * Every place where two values differ, the outermost where they are of different kinds. The order of keys does not
 * count, and `__proto__` is a key like any other.
 */
export function diffJson(a: JsonValue | undefined, b: JsonValue | undefined): readonly JsonDifference[] {
  const found: JsonDifference[] = [];
  walk(a, b, [], found);
  return found;
}

function walk(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
  path: JsonPath,
  found: JsonDifference[],
): void {
  // NaN and -0 are no JSON; what is left is the same where it is identical.
  if (a === b) return;
  if (Array.isArray(a) && Array.isArray(b)) {
    const [left, right] = [a as readonly JsonValue[], b as readonly JsonValue[]];
    const length = Math.max(left.length, right.length);
    for (let index = 0; index < length; index++) walk(left[index], right[index], [...path, index], found);
    return;
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const own = (holder: { readonly [key: string]: JsonValue }, key: string): JsonValue | undefined =>
      Object.hasOwn(holder, key) ? holder[key] : undefined;
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      walk(own(a, key), own(b, key), [...path, key], found);
    return;
  }
  found.push({ path, a, b });
}
