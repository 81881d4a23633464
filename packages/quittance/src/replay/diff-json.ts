import type { JsonPath, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

/** One path at which two values differ. Undefined if one of them is absent there. */
export type JsonDifference = {
  readonly path: JsonPath;
  readonly a: JsonValue | undefined;
  readonly b: JsonValue | undefined;
};

/**
 * Every path at which two values differ; the outermost one if their types differ. Key order does not count, and
 * `__proto__` is an ordinary key.
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
  // NaN and -0 are not JSON; all other values are equal if they are identical.
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
