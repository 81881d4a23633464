/**
 * JSON data, and its two sources: values of a program (`toJson`) and text (`parseJson`).
 *
 * 1. Accepted data is plain: no cycle, no number without a JSON form, nested at most 512 levels deep, so that all
 *    later code may recurse.
 * 2. The result of `toJson` is a copy and small enough for `JSON.stringify`.
 * 3. Neither throws, for any input.
 */
import { findExoticJson, unbox } from './json-exotic.ts';

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

interface ToJsonOptions {
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

/** A JSON value. Read-only: payloads do not change after they come in. */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export type JsonPrimitive = string | number | boolean | null;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Sets a member whose key may be `__proto__` without touching any prototype. */
export function defineMember(holder: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Copies a value of a program as plain JSON data. */

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
      if (
        copying === undefined &&
        ++members < mostFlatMembers &&
        isFlatCopy(key, given, refuseUnsafeIntegers)
      ) {
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
function isFlatCopy(
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

/**
 * Reads JSON text exactly as written. Some engines do not. V8 may give a key with an escape the name of another
 * key it has seen before. This is nodejs/node#63785, in Node 22 to 26 at least. The stored data would differ from the text, so
 * text with such keys is parsed by this code.
 */

/** Called for every number with its source text and its path. */
type OnNumber = (value: number, source: string, path: readonly (string | number)[]) => void;

/** The value of the text. Throws a SyntaxError if it is not JSON; recurses as deep as the text does. */
export function readJsonText(text: string): JsonValue {
  return text.includes('\\') && hasEscapedKey(text) ? readTokens(text) : (JSON.parse(text) as JsonValue);
}

/** The same, with a callback for every number. */
export const readTokens = (text: string, onNumber?: OnNumber): JsonValue => new Reader(text, onNumber).read();

/** Is a string with an escape followed by a colon? One pass: the text may be long and hostile. */
function hasEscapedKey(text: string): boolean {
  let inString = false;
  let escaped = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (!inString) {
      if (char === '"') inString = true;
      else if (char === ':' && escaped) return true;
      else if (char === ',' || char === '}' || char === ']') escaped = false;
      if (inString) escaped = false;
    } else if (char === '\\') {
      escaped = true;
      at++;
    } else if (char === '"') inString = false;
  }
  return false;
}

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class Reader {
  readonly #text: string;
  readonly #onNumber: OnNumber | undefined;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, onNumber: OnNumber | undefined) {
    this.#text = text;
    this.#onNumber = onNumber;
  }

  read(): JsonValue {
    const value = this.#value();
    if (this.#next() !== undefined) this.#refuse();
    return value;
  }

  /** The next character that is not white space; it is not consumed. */
  #next(): string | undefined {
    this.#take(space);
    return this.#text[this.#at];
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #expect(char: string): void {
    if (this.#next() !== char) this.#refuse();
    this.#at++;
  }

  #value(): JsonValue {
    const char = this.#next();
    if (char === '{') return this.#object();
    if (char === '[') return this.#array();
    return char === '"' ? this.#string() : this.#scalar();
  }

  #object(): JsonValue {
    const members: { [key: string]: JsonValue } = {};
    this.#at++;
    if (this.#next() === '}') this.#at++;
    else
      for (let more = true; more; more = this.#more('}')) {
        if (this.#next() !== '"') this.#refuse();
        const key = this.#string();
        this.#expect(':');
        this.#path.push(key);
        defineMember(members, key, this.#value());
        this.#path.pop();
      }
    return members;
  }

  #array(): JsonValue {
    const items: JsonValue[] = [];
    this.#at++;
    if (this.#next() === ']') this.#at++;
    else
      for (let more = true; more; more = this.#more(']')) {
        this.#path.push(items.length);
        items.push(this.#value());
        this.#path.pop();
      }
    return items;
  }

  #more(closer: string): boolean {
    const char = this.#next();
    if (char !== ',' && char !== closer) this.#refuse();
    this.#at++;
    return char === ',';
  }

  /** A lone string has no keys: the platform reads it correctly, and rejects anything else. */
  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    this.#at = end + 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #scalar(): JsonValue {
    for (const [word, value] of words)
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    const source = this.#take(number);
    if (source === '') this.#refuse();
    const value = Number(source);
    this.#onNumber?.(value, source, this.#path);
    return value + 0; // -0 would be written, and read again, as 0
  }

  #refuse(): never {
    throw new SyntaxError(`not JSON at position ${this.#at}`);
  }
}

/**
 * Finds where a text breaks the JSON grammar and describes it in our own words. The platform's messages quote the
 * text, which may contain secrets, and often omit the position. Used only after `JSON.parse` has failed.
 */

/** The position of the first bracket that opens a nesting deeper than `limit`, if there is one. */
export function findNesting(text: string, limit: number): number | undefined {
  if (text.length < 2 * limit) return undefined; // too short to close that many
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === backslash) at++;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    else if (code === openBracket || code === openBrace) {
      if (++depth > limit) return at;
    } else if (code === closeBracket || code === closeBrace) depth--;
  }
  return undefined;
}

/** Says where `text` stops being JSON and what is expected there. Shows at most one character of it. */
export function findJsonSyntaxError(text: string): string {
  const closers: ('}' | ']')[] = [];
  let state: State = 'value';
  let at = 0;
  for (;;) {
    at = endOf(spaces, text, at);
    const char = text[at];
    const closer = closers.at(-1);
    if (state === 'end' && char === undefined) return 'not readable as JSON';
    if (char !== undefined && char === closer && state.startsWith('more')) {
      closers.pop();
      state = afterValue(closers);
      at++;
    } else if (state === 'more' && char === ',') {
      state = closer === '}' ? 'key' : 'value';
      at++;
    } else if (state === 'colon' && char === ':') {
      state = 'value';
      at++;
    } else if ((state === 'key' || state === 'moreKeys') && char === '"') {
      const { end, expected } = readString(text, at);
      if (expected !== undefined) return describe(text, end, expected);
      state = 'colon';
      at = end;
    } else if ((state === 'value' || state === 'moreItems') && char === '"') {
      const { end, expected } = readString(text, at);
      if (expected !== undefined) return describe(text, end, expected);
      state = afterValue(closers);
      at = end;
    } else if ((state === 'value' || state === 'moreItems') && (char === '{' || char === '[')) {
      closers.push(char === '{' ? '}' : ']');
      state = char === '{' ? 'moreKeys' : 'moreItems';
      at++;
    } else {
      const end = state === 'value' || state === 'moreItems' ? endOf(literal, text, at) : at;
      if (end === at) return describe(text, at, expectations[state].replace('}', closer ?? '}'));
      state = afterValue(closers);
      at = end;
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** What may come next. `more` in a name: the closing bracket is allowed too. */
type State = 'value' | 'key' | 'colon' | 'more' | 'moreKeys' | 'moreItems' | 'end';

const expectations: Readonly<Record<State, string>> = {
  value: 'a value',
  key: 'a key in double quotes',
  colon: '":"',
  more: '"," or "}"',
  moreKeys: 'a key in double quotes or "}"',
  moreItems: 'a value or "]"',
  end: 'the end of the text',
};

const afterValue = (closers: readonly string[]): State => (closers.length === 0 ? 'end' : 'more');

const spaces = /[ \t\r\n]*/y;
const literal = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)?/y;
const escape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** End of the match of a sticky pattern; `at` itself if there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** End of the string that opens at `at`, or where it breaks and what is expected there. */
function readString(text: string, at: number): { end: number; expected?: string } {
  let end = at + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === quote) return { end: end + 1 };
    if (code < 0x20) return { end, expected: 'an escape such as \\n' };
    if (code !== backslash) continue;
    const after = endOf(escape, text, end);
    if (after === end) return { end, expected: 'a valid JSON escape' };
    end = after - 1;
  }
  return { end, expected: 'a closing double quote' };
}

function describe(text: string, position: number, expected: string): string {
  const before = text.slice(0, position).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return (
    `not JSON at position ${position} (line ${before.length}, column ${column}): ` +
    `expected ${expected}, found ${nameCharacter(text.codePointAt(position))}`
  );
}

function nameCharacter(code: number | undefined): string {
  if (code === undefined) return 'the end of the text';
  if (code > 0x20 && code < 0x7f) return `"${String.fromCodePoint(code)}"`;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The own value under a key; nothing inherited, so `constructor` is a name like any other. */
export const ownValue = (value: object, key: PropertyKey): unknown =>
  // An object with that own key can be read by it.
  Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
