/** The difference between two inputs, field by field. */
import type { JsonPath, JsonValue } from 'quittance/internal/base/json';
import { formatPath, isJsonObject } from 'quittance/internal/base/json';

export type InputDifference = {
  readonly path: string;
  /** Undefined if the field was absent. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
};

/** `shown` is displayed instead of `after`: the same shape, with redacted values. */
export function inputDifference(
  before: JsonValue,
  after: JsonValue,
  shown: JsonValue = after,
): InputDifference[] {
  const found: InputDifference[] = [];
  const visit = (
    path: JsonPath,
    left: JsonValue | undefined,
    right: JsonValue | undefined,
    said: JsonValue | undefined,
  ): void => {
    const isList = Array.isArray(left) && Array.isArray(right);
    if (!isList && !(isJsonObject(left) && isJsonObject(right))) {
      if (JSON.stringify(left) !== JSON.stringify(right))
        found.push({ path: formatPath(path), before: left, after: right === undefined ? undefined : said });
      return;
    }
    const keys = new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})]);
    for (const key of keys)
      visit(
        [...path, isList ? Number(key) : key],
        own(left, key),
        own(right, key),
        // If the whole value is redacted, one mask stands for every field.
        typeof said === 'object' && said !== null ? own(said, key) : said,
      );
  };
  visit([], before, after, shown);
  return found;
}

function own(holder: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  // An own property of a JSON value is JSON.
  return (holder as { readonly [name: string]: JsonValue })[key];
}
