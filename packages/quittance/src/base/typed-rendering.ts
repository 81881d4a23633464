/**
 * Writes a value without a JSON form as JSON, so that people can read it and two such values can be compared.
 *
 * 1. JSON inside the value is written as it is. Everything else becomes an object with `$type`.
 * 2. A caller's object with its own `$type` is wrapped, so no data can imitate a rendering.
 * 3. Two values that differ in anything a program can read have different renderings. Unreadable parts (functions,
 *    private fields, promises) are marked `opaque`.
 */
import type { JsonObject, JsonValue } from './json.ts';
import { defineMember } from './json.ts';

export type TypedRendering =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly path: readonly never[]; readonly problem: string };

const deepest = 256;
const mostNodes = 1_000_000;

export function renderTyped(value: unknown): TypedRendering {
  const rendering = new Rendering();
  try {
    return { ok: true, value: rendering.render(value) };
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    return { ok: false, path: [], problem: error.message };
  }
}

/** Does JSON text return this value unchanged? Reading it runs no code of the value's author except getters. */
export function isPlainJson(value: unknown, depth = 0): value is JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      return value === null || (depth < deepest && hasPlainContents(value, depth));
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      return false;
  }
}

function hasPlainContents(holder: object, depth: number): boolean {
  if (isPlainObject(holder)) {
    for (const key in holder)
      if (Object.hasOwn(holder, key) && !isPlainJson((holder as Record<string, unknown>)[key], depth + 1))
        return false;
    return true;
  }
  const keys = plainKeys(holder);
  if (keys === undefined) return false;
  for (const key of keys) if (!isPlainJson((holder as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

/** The same question as `plainKeys` answers, for objects only: V8 lists symbols and names much faster than all keys. */
const isPlainObject = (holder: object): boolean =>
  isOrdinary(holder) &&
  !Array.isArray(holder) &&
  Object.getOwnPropertySymbols(holder).length === 0 &&
  Object.getOwnPropertyNames(holder).length === countMembers(holder);

function countMembers(holder: object): number {
  let count = 0;
  for (const key in holder) if (Object.hasOwn(holder, key)) count++;
  return count;
}

/** Does it have the usual prototype, and no conversion of its own? */
function isOrdinary(holder: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(holder);
  if (Array.isArray(holder)) return prototype === Array.prototype;
  if (prototype !== Object.prototype && prototype !== null) return false;
  return typeof (holder as { toJSON?: unknown }).toJSON !== 'function';
}

/** The keys of an ordinary array or object if all are texts and enumerable. Otherwise undefined. */
function plainKeys(holder: object): readonly string[] | undefined {
  if (!isOrdinary(holder)) return undefined;
  const isList = Array.isArray(holder);
  const keys = Reflect.ownKeys(holder);
  // The length of a list is its last key, and a list without holes has no other keys than its indexes.
  if (isList && (keys.length !== holder.length + 1 || keys.pop() !== 'length')) return undefined;
  for (const key of keys) if (typeof key === 'symbol' || !isEnumerable(holder, key)) return undefined;
  return keys as readonly string[]; // no symbol among them
}

const isEnumerable = (holder: object, key: string): boolean =>
  Object.prototype.propertyIsEnumerable.call(holder, key);

class TooMuch extends Error {}

class Rendering {
  readonly #holders: object[] = [];
  #nodes = 0;

  render(value: unknown): JsonValue {
    if (++this.#nodes > mostNodes) throw new TooMuch(`has more than ${mostNodes} values`);
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { $type: 'number', value: Object.is(value, -0) ? '-0' : String(value) };
      case 'undefined':
        return { $type: 'undefined' };
      case 'bigint':
        return { $type: 'bigint', value: String(value) };
      case 'symbol':
        return { $type: 'symbol', value: value.description ?? '', opaque: true };
      case 'function':
        return { $type: 'function', value: textOf(() => value.name) ?? '', opaque: true };
      case 'object':
        return value === null ? null : this.#renderHolder(value);
    }
  }

  #renderHolder(holder: object): JsonValue {
    const { length } = this.#holders;
    const at = this.#holders.indexOf(holder);
    if (at !== -1) return { $type: 'circular', up: length - at };
    if (length >= deepest) throw new TooMuch(`is nested more than ${deepest} levels deep`);
    this.#holders.push(holder);
    try {
      return plainKeys(holder) !== undefined ? this.#renderPlain(holder) : this.#renderOther(holder);
    } catch (error) {
      if (error instanceof TooMuch) throw error;
      return { $type: 'unreadable', opaque: true };
    } finally {
      this.#holders.length = length;
    }
  }

  #renderPlain(holder: object): JsonValue {
    if (Array.isArray(holder)) return holder.map((item) => this.render(item));
    const members = this.#members(holder);
    return Object.hasOwn(holder, '$type') ? { $type: 'Object', members } : members;
  }

  #members(holder: object): JsonObject {
    const members: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(holder))
      defineMember(members, key, this.render((holder as Record<string, unknown>)[key]));
    return members;
  }

  #renderOther(holder: object): JsonValue {
    const content = this.#contentOf(holder);
    const own = Object.keys(holder);
    // The bytes and items of these are also their keys.
    const isIndexed = Array.isArray(holder) || ArrayBuffer.isView(holder) || holder instanceof String;
    const named = isIndexed ? own.filter((key) => !/^\d+$/.test(key)) : own;
    const members: { [key: string]: JsonValue } = {};
    for (const key of named)
      defineMember(members, key, this.render((holder as Record<string, unknown>)[key]));
    const more = this.#unlisted(holder);
    const text = content === undefined ? textOf(() => ownText(holder)) : undefined;
    const isOpaque = content === undefined && named.length === 0 && more.length === 0 && text === undefined;
    return {
      $type: typeNameOf(holder),
      ...content,
      ...(named.length > 0 && { members }),
      ...(more.length > 0 && { more }),
      ...(text !== undefined && { text }),
      ...(isOpaque && { opaque: true }),
    };
  }

  /** The content of platform values. Undefined if their own members are all there is to read. */
  #contentOf(holder: object): JsonObject | undefined {
    if (Array.isArray(holder))
      return {
        items: Array.from(holder, (item: unknown, index) =>
          index in holder ? this.render(item) : { $type: 'hole' },
        ),
      };
    if (holder instanceof Date)
      return { value: Number.isNaN(Number(holder)) ? 'Invalid Date' : holder.toISOString() };
    if (holder instanceof RegExp) return { value: String(holder), lastIndex: holder.lastIndex };
    if (holder instanceof Map)
      return { entries: Array.from(holder, ([key, item]) => [this.render(key), this.render(item)]) };
    if (holder instanceof Set) return { values: Array.from(holder, (item) => this.render(item)) };
    if (ArrayBuffer.isView(holder))
      return bytesOf(new Uint8Array(holder.buffer, holder.byteOffset, holder.byteLength));
    if (holder instanceof ArrayBuffer) return bytesOf(new Uint8Array(holder));
    if (holder instanceof URL || holder instanceof URLSearchParams) return { value: String(holder) };
    if (holder instanceof Error) return { value: holder.message };
    if (holder instanceof String || holder instanceof Number || holder instanceof Boolean)
      return { value: this.render(holder.valueOf()) };
    const { toJSON } = holder as { toJSON?: unknown };
    return typeof toJSON === 'function' ? { value: this.render(toJSON.call(holder, '')) } : undefined;
  }

  /** Members that are not in `Object.keys`: symbols, and those that are not enumerable. */
  #unlisted(holder: object): JsonValue[] {
    const listed = new Set<string | symbol>(Object.keys(holder));
    const builtIn = Array.isArray(holder) || holder instanceof String ? 'length' : undefined;
    return Reflect.ownKeys(holder)
      .filter((key) => !listed.has(key) && key !== builtIn && !(holder instanceof Error))
      .filter((key) => !(holder instanceof RegExp && key === 'lastIndex'))
      .map((key) => [
        typeof key === 'string' ? key : String(key),
        this.render((holder as Record<string | symbol, unknown>)[key]),
      ]);
  }
}

/** As text if the bytes are text, so that secrets in them are recognized. */
function bytesOf(bytes: Uint8Array): JsonObject {
  try {
    return {
      sizeBytes: bytes.byteLength,
      utf8: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    };
  } catch {
    return { sizeBytes: bytes.byteLength, base64: Buffer.from(bytes).toString('base64') };
  }
}

function typeNameOf(holder: object): string {
  const tag = Object.prototype.toString.call(holder).slice(8, -1);
  const prototype: unknown = Object.getPrototypeOf(holder);
  if (typeof prototype !== 'object' || prototype === null) return tag;
  const { constructor } = prototype as { constructor?: unknown };
  const name = typeof constructor === 'function' ? textOf(() => constructor.name) : undefined;
  return name === undefined || name === '' ? tag : name;
}

/** The text that a class gives for its values, if any. */
function ownText(holder: object): string | undefined {
  const { toString } = holder as { toString?: unknown };
  if (typeof toString !== 'function' || toString === Object.prototype.toString) return undefined;
  const text: unknown = toString.call(holder);
  return typeof text === 'string' ? text : undefined;
}

function textOf(read: () => unknown): string | undefined {
  try {
    const text = read();
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
