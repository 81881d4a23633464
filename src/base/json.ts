/**
 * JSON data, and its two sources: values of a program (`toJson`) and text (`parseJson`).
 *
 * 1. Accepted data is plain: no cycle, no number without a JSON form, nested at most 512 levels deep, so that all
 *    later code may recurse.
 * 2. The result of `toJson` is a copy and small enough for `JSON.stringify`.
 * 3. Neither throws, for any input.
 */
import { findExoticJson, unbox } from './json-exotic.ts';
import { readByHand, readJsonText } from './json-text.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { defineMember } from './json-value.ts';
import { findNesting, findJsonSyntaxError } from './json-syntax.ts';

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

const deepest = 512;
const mostNodes = 5_000_000;
/** At most six written characters each: with `mostNodes` numbers this stays below the longest possible string. */
const mostCharacters = 2 ** 26;

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
export function toJson(value: unknown, options?: ToJsonOptions): JsonReading {
  const copying = new Copying(options?.refuseUnsafeIntegers ?? false);
  const copy = copying.copy(value, '');
  return copying.problem === undefined
    ? { ok: true, value: copy ?? null }
    : { ok: false, path: copying.path.reverse(), problem: copying.problem };
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

const refusal = (problem: string, path: JsonPath = []): JsonReading => ({ ok: false, path, problem });

function parseExactly(text: string): JsonReading {
  let lost: { readonly source: string; readonly path: JsonPath } | undefined;
  const value = readByHand(text, (number, source, path) => {
    if (!isExact(number, source)) lost ??= { source, path: [...path] };
  });
  if (lost === undefined) return { ok: true, value };
  return refusal(`${shorten(lost.source)} does not survive as a number: pass it as a string`, lost.path);
}

const isExact = (value: number, source: string): boolean =>
  Number.isFinite(value) &&
  (Number.isSafeInteger(value) || !/^-?\d+$/.test(source) || BigInt(source) === BigInt(value));

const shorten = (text: string): string => (text.length <= 40 ? text : `${text.slice(0, 30)}…`);

/**
 * One run of `toJson`. A value without JSON form becomes undefined: omitted if there is no problem, rejected if there
 * is. Only then is the path built, from the inside out, while the calls return.
 */
class Copying {
  problem: string | undefined;
  readonly path: (string | number)[] = [];
  readonly #refuseUnsafeIntegers: boolean;
  readonly #holders: object[] = [];
  #nodes = 0;
  #characters = 0;

  constructor(refuseUnsafeIntegers: boolean) {
    this.#refuseUnsafeIntegers = refuseUnsafeIntegers;
  }

  copy(value: unknown, key: string | number): JsonValue | undefined {
    if (++this.#nodes > mostNodes)
      return this.#refuse(`more than ${mostNodes} values in total (a value that occurs twice counts twice)`);
    switch (typeof value) {
      case 'string':
        this.#countCharacters(value);
        return value;
      case 'number':
        return this.#copyNumber(value);
      case 'object':
        return value === null ? null : this.#copyObject(value, key);
      case 'boolean':
        return value;
      case 'undefined':
        return undefined;
      case 'bigint':
        return this.#refuse('a BigInt has no JSON form: pass it as a string');
      case 'symbol':
        return this.#refuse('a symbol has no JSON form');
      case 'function':
        return this.#refuse('a function has no JSON form');
    }
  }

  #refuse(problem: string): undefined {
    this.problem ??= problem;
    return undefined;
  }

  #countCharacters(text: string): void {
    this.#characters += text.length;
    if (this.#characters > mostCharacters)
      this.#refuse(`more than ${mostCharacters} characters of text in total`);
  }

  #copyNumber(value: number): JsonValue | undefined {
    if (!Number.isFinite(value)) return this.#refuse(`${value} has no JSON form`);
    if (this.#refuseUnsafeIntegers && isUnsafeInteger(value))
      return this.#refuse(
        `${value} is beyond ${Number.MAX_SAFE_INTEGER}, where numbers cannot represent every integer: ` +
          'pass it as a string',
      );
    return value + 0; // -0 becomes 0
  }

  #copyObject(source: object, key: string | number): JsonValue | undefined {
    const holders = this.#holders;
    if (holders.length >= deepest) return this.#refuse(`nested more than ${deepest} levels deep`);
    if (holders.includes(source)) return this.#refuse('a value that contains itself has no JSON form');
    holders.push(source);
    const copy = this.#copyContents(source, key);
    holders.pop();
    return copy;
  }

  #copyContents(source: object, key: string | number): JsonValue | undefined {
    try {
      const { toJSON } = source as { toJSON?: unknown };
      const hasToJson = typeof toJSON === 'function';
      let data: unknown = source;
      if (!isPlain(source)) {
        const problem = findExoticJson(source, hasToJson);
        if (problem !== undefined) return this.#refuse(problem);
        data = unbox(source);
      }
      if (hasToJson) data = toJSON.call(source, String(key)) as unknown;
      if (typeof data !== 'object' || data === null) return this.copy(data, key);
      return Array.isArray(data) ? this.#copyItems(data) : this.#copyMembers(data);
    } catch (thrown) {
      return this.#refuseUnreadable(thrown);
    }
  }

  #copyItems(source: readonly unknown[]): JsonValue | undefined {
    const copy: JsonValue[] = [];
    const { length } = source;
    for (let index = 0; index < length; index++) {
      const item = this.#copyOne(source, index);
      if (this.problem !== undefined) {
        this.path.push(index);
        return undefined;
      }
      copy.push(item ?? null);
    }
    return copy;
  }

  #copyMembers(source: object): JsonValue | undefined {
    const copy: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(source)) {
      this.#countCharacters(key);
      const member = this.#copyOne(source, key);
      if (this.problem !== undefined) {
        this.path.push(key);
        return undefined;
      }
      if (member === undefined) continue;
      // An assignment to this key would set the prototype of the copy.
      if (key === '__proto__') defineMember(copy, key, member);
      else copy[key] = member;
    }
    return copy;
  }

  #copyOne(holder: object, key: string | number): JsonValue | undefined {
    try {
      return this.copy((holder as Record<string | number, unknown>)[key], key);
    } catch (thrown) {
      return this.#refuseUnreadable(thrown);
    }
  }

  #refuseUnreadable(thrown: unknown): undefined {
    let message = typeof thrown as string;
    try {
      message = String(thrown instanceof Error ? thrown.message : thrown);
    } catch {
      // Then its type must do.
    }
    return this.#refuse(`reading it threw: ${message.slice(0, 200)}`);
  }
}

const isUnsafeInteger = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;

function isPlain(source: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(source);
  return prototype === Object.prototype || prototype === null || Array.isArray(source);
}
