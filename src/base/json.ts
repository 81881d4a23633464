/**
 * JSON data, and its two sources: values of a program (`toJson`) and text (`parseJson`).
 *
 * 1. Accepted data is plain: no cycle, no number without a JSON form, nested at most 512 levels deep, so that all
 *    later code may recurse.
 * 2. The result of `toJson` is a copy and small enough for `JSON.stringify`.
 * 3. Neither throws, for any input.
 */
import { readTokens, readJsonText } from './json-text.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { findNesting, findJsonSyntaxError } from './json-syntax.ts';
import { copyJson, deepest, JsonCopying } from './json-copy.ts';

export type { JsonObject, JsonPrimitive, JsonValue } from './json-value.ts';

export { defineMember } from './json-value.ts';

export { readJsonText } from './json-text.ts';

/** True for an object that is neither null nor an array. Says nothing about its members. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value that may be available now or later. */
export type Awaitable<Value> = Value | PromiseLike<Value>;

/** Keys and indexes from the root to a value. */
export type JsonPath = readonly (string | number)[];

/** The data, or the reason and path why there is none. */
export type JsonReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly path: JsonPath; readonly problem: string };

export interface ToJsonOptions {
  /** Reject integers so large that they may have been a different number in their source text. */
  readonly refuseUnsafeIntegers?: boolean;
}

/** Writes a path in the usual notation: `$.a[0]["x y"]`. */
export function formatPath(path: JsonPath): string {
  let text = '$';
  for (const step of path)
    if (typeof step === 'number') text += `[${step}]`;
    else text += /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  return text;
}

/**
 * Copies a value as plain JSON data. Follows `JSON.stringify` if that loses nothing (`toJSON` is called, undefined
 * properties are omitted). Rejects values that would lose something: NaN, functions, Maps and the like.
 */
export const toJson = (value: unknown, options?: ToJsonOptions): JsonReading =>
  readingOf(copyJson(value, options?.refuseUnsafeIntegers ?? false));

/** The result of `copyJson` in words. */
export function readingOf(copy: ReturnType<typeof copyJson>): JsonReading {
  return copy instanceof JsonCopying
    ? { ok: false, path: copy.path?.reverse() ?? [], problem: copy.problem ?? '' }
    : { ok: true, value: copy ?? null };
}

/**
 * Reads JSON text from outside. It also rejects numbers that would change: integers that do not survive parsing, and
 * numbers too large. (Our own text may contain such an integer, rounded by the code that computed it: `readJsonText`
 * reads that.)
 */
export function parseJson(text: string): JsonReading {
  const tooDeepAt = findNesting(text, deepest);
  if (tooDeepAt !== undefined)
    return refusal(`nested more than ${deepest} levels deep at position ${tooDeepAt}`);
  try {
    // Every literal is checked only if a number may change: that costs ten times the parse.
    if (!/\d{16}|\d[eE][+-]?\d{3}|(?:^|[\s:,[])-0/.test(text)) return { ok: true, value: readJsonText(text) };
    return parseExactly(text);
  } catch {
    return refusal(findJsonSyntaxError(text));
  }
}

/** Freezes a value and everything in it, and returns it. */
export function freezeJson<Value extends JsonValue>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (isFlat(value)) return Object.freeze(value);
  const rest: JsonValue[] = [value];
  // A frozen object may contain one that is not frozen, and one object may occur many times.
  let seenFrozen: Set<JsonValue> | undefined;
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    if (Object.isFrozen(next)) {
      seenFrozen ??= new Set();
      if (seenFrozen.has(next)) continue;
      seenFrozen.add(next);
    }
    Object.freeze(next);
    for (const inner of Object.values(next))
      if (typeof inner === 'object' && inner !== null) rest.push(inner);
  }
  return value;
}

/** Does it hold no objects? Most arguments and outputs are like this. */
function isFlat(value: object): boolean {
  for (const key in value) {
    const member: unknown = (value as Record<string, unknown>)[key];
    if (typeof member === 'object' && member !== null) return false;
  }
  return true;
}

const refusal = (problem: string, path: JsonPath = []): JsonReading => ({ ok: false, path, problem });

function parseExactly(text: string): JsonReading {
  let lost: { readonly source: string; readonly path: JsonPath } | undefined;
  const value = readTokens(text, (number, source, path) => {
    if (!isExact(number, source)) lost ??= { source, path: [...path] };
  });
  if (lost === undefined) return { ok: true, value };
  return refusal(`${shorten(lost.source)} does not survive as a number: pass it as a string`, lost.path);
}

const isExact = (value: number, source: string): boolean =>
  Number.isFinite(value) &&
  (Number.isSafeInteger(value) || !/^-?\d+$/.test(source) || BigInt(source) === BigInt(value));

const shorten = (text: string): string => (text.length <= 40 ? text : `${text.slice(0, 30)}…`);
