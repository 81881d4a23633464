/** Copies a value of a program as plain JSON data. */
import { findExoticJson, unbox } from './json-exotic.ts';
import type { JsonValue } from './json-value.ts';
import { defineMember } from './json-value.ts';

export const deepest = 512;

const mostNodes = 5_000_000;

/** At most six written characters each: with `mostNodes` numbers this stays below the longest possible string. */
const mostCharacters = 2 ** 26;

/** A longer text, or more members, is copied by a run that counts. */
const mostFlatMembers = 1_000;
const longestFlatText = 4_000;

/**
 * Copies a value. Most are one object of texts, numbers and booleans: only another one needs a run with its own state.
 * Each property is read once.
 */
export function copyJson(value: unknown, refuseUnsafeIntegers: boolean): JsonValue | undefined | JsonCopying {
  if (typeof value === 'object' && value !== null && isFlatCandidate(value))
    return copyMembers(value, refuseUnsafeIntegers);
  const copying = new JsonCopying(refuseUnsafeIntegers);
  const copy = copying.copy(value, '');
  return copying.problem === undefined ? copy : copying;
}

function isFlatCandidate(source: object): boolean {
  try {
    return (
      !Array.isArray(source) &&
      isPlain(source) &&
      typeof (source as { toJSON?: unknown }).toJSON !== 'function'
    );
  } catch {
    return false;
  }
}

function copyMembers(source: object, refuseUnsafeIntegers: boolean): JsonValue | JsonCopying {
  const copy: { [key: string]: JsonValue } = {};
  let copying: JsonCopying | undefined;
  let reading = '';
  let members = 0;
  let characters = 0;
  try {
    for (const key in source) {
      if (!Object.hasOwn(source, key)) continue;
      reading = key;
      const given: unknown = (source as Record<string, unknown>)[key];
      let member: JsonValue | undefined;
      if (copying === undefined && ++members < mostFlatMembers && isFlat(key, given, refuseUnsafeIntegers)) {
        characters += key.length + (typeof given === 'string' ? given.length : 0);
        member = typeof given === 'number' ? given + 0 : given; // -0 becomes 0
      } else {
        copying ??= new JsonCopying(refuseUnsafeIntegers, source, members, characters);
        member = copying.copyMember(given, key);
        if (copying.problem !== undefined) return copying;
      }
      if (member === undefined) continue;
      // An assignment to this key would set the prototype of the copy.
      if (key === '__proto__') defineMember(copy, key, member);
      else copy[key] = member;
    }
    return copy;
  } catch (thrown) {
    copying ??= new JsonCopying(refuseUnsafeIntegers, source);
    copying.refuseMember(thrown, reading);
    return copying;
  }
}

/** Is a member a scalar that no limit concerns? */
function isFlat(
  key: string,
  member: unknown,
  refuseUnsafeIntegers: boolean,
): member is string | number | boolean | null {
  if (key.length > longestFlatText) return false;
  if (typeof member === 'string') return member.length <= longestFlatText;
  if (typeof member === 'number')
    return Number.isFinite(member) && !(refuseUnsafeIntegers && isUnsafeInteger(member));
  return typeof member === 'boolean' || member === null;
}

/**
 * One run of `toJson`. A value without JSON form becomes undefined: omitted if there is no problem, rejected if there
 * is. Only then is the path built, from the inside out, while the calls return.
 */
export class JsonCopying {
  problem: string | undefined;
  /** Keys from the inside out. Undefined unless there is a problem below the root. */
  path: (string | number)[] | undefined;
  readonly #refuseUnsafeIntegers: boolean;
  /** The objects around the current one. Most values are flat, so the first object has a place of its own. */
  #outermost: object | undefined;
  #holders: object[] | undefined;
  #nodes: number;
  #characters: number;

  /** `outermost`: the object around all values, of which this many values and characters are copied already. */
  constructor(refuseUnsafeIntegers: boolean, outermost?: object, nodes = 0, characters = 0) {
    this.#refuseUnsafeIntegers = refuseUnsafeIntegers;
    this.#outermost = outermost;
    this.#nodes = nodes;
    this.#characters = characters;
  }

  /** Copies a member of the outermost object. */
  copyMember(member: unknown, key: string): JsonValue | undefined {
    this.#countCharacters(key);
    const copy = this.copy(member, key);
    if (this.problem !== undefined) (this.path ??= []).push(key);
    return copy;
  }

  /** Reading a member of the outermost object threw. */
  refuseMember(thrown: unknown, key: string): void {
    this.#refuseUnreadable(thrown);
    (this.path ??= []).push(key);
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
    if (this.#outermost === undefined) {
      this.#outermost = source;
      return this.#copyContents(source, key);
    }
    const holders = (this.#holders ??= []);
    if (holders.length + 1 >= deepest) return this.#refuse(`nested more than ${deepest} levels deep`);
    if (source === this.#outermost || holders.includes(source))
      return this.#refuse('a value that contains itself has no JSON form');
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
        (this.path ??= []).push(index);
        return undefined;
      }
      copy.push(item ?? null);
    }
    return copy;
  }

  #copyMembers(source: object): JsonValue | undefined {
    const copy: { [key: string]: JsonValue } = {};
    for (const key in source) {
      if (!Object.hasOwn(source, key)) continue;
      this.#countCharacters(key);
      const member = this.#copyOne(source, key);
      if (this.problem !== undefined) {
        (this.path ??= []).push(key);
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
