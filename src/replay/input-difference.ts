import type { JsonPath, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject } from '../base/json.ts';

/** One place where two values differ. A side that has nothing there is left out. */
export type Difference = {
  readonly path: string;
  readonly recorded?: JsonValue;
  readonly now?: JsonValue;
};

const mostDifferences = 50;
const deepest = 200;

/** Field by field, where `now` is not what was recorded; no more than fifty places. */
export function differencesOf(recorded: JsonValue, now: JsonValue): readonly Difference[] {
  const found: Difference[] = [];
  compare(recorded, now, [], found);
  return found;
}

function compare(recorded: JsonValue, now: JsonValue, path: JsonPath, found: Difference[]): void {
  if (found.length >= mostDifferences || Object.is(recorded, now)) return;
  if (path.length < deepest && isJsonObject(recorded) && isJsonObject(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)]))
      compareMember(own(recorded, key), own(now, key), [...path, key], found);
    return;
  }
  if (path.length < deepest && Array.isArray(recorded) && Array.isArray(now)) {
    const [before, after] = [recorded as readonly JsonValue[], now as readonly JsonValue[]];
    for (let index = 0; index < Math.max(before.length, after.length); index++)
      compareMember(before[index], after[index], [...path, index], found);
    return;
  }
  // Zero and minus zero are one number in JSON.
  if (recorded !== now) found.push({ path: formatPath(path), recorded, now });
}

function compareMember(
  recorded: JsonValue | undefined,
  now: JsonValue | undefined,
  path: JsonPath,
  found: Difference[],
): void {
  if (recorded !== undefined && now !== undefined) return compare(recorded, now, path, found);
  if (found.length < mostDifferences && recorded !== now)
    found.push({
      path: formatPath(path),
      ...(recorded !== undefined && { recorded }),
      ...(now !== undefined && { now }),
    });
}

const own = (value: { readonly [key: string]: JsonValue }, key: string): JsonValue | undefined =>
  Object.hasOwn(value, key) ? value[key] : undefined;
