/**
 * A value as rules read it: JSON, with other values written as people write them in rules. A date is its ISO text, a
 * Map an object, a Set a list. If a value cannot be read, its source value takes its place.
 */
import type { JsonValue } from './json.ts';
import { defineMember } from './json.ts';

/** `source`: the source of the value, at the same path. */
export function looseJson(value: unknown, source: unknown): JsonValue {
  return read(value, source, []) ?? null;
}

const deepest = 256;

function read(value: unknown, source: unknown, holders: readonly object[]): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value + 0 : String(value);
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case 'undefined':
      return undefined;
    case 'symbol':
    case 'function':
      return fallback(source, holders);
    case 'object':
      if (value === null) return null;
      if (holders.length >= deepest || holders.includes(value)) return undefined;
      try {
        return readHolder(value, source, [...holders, value]);
      } catch {
        return fallback(source, holders);
      }
  }
}

/** Arguments are JSON; any other value is not read a second time. */
const fallback = (source: unknown, holders: readonly object[]): JsonValue | undefined =>
  typeof source === 'function' || typeof source === 'symbol' ? undefined : read(source, undefined, holders);

function readHolder(holder: object, source: unknown, holders: readonly object[]): JsonValue | undefined {
  const inner = (value: unknown, from: unknown): JsonValue => read(value, from, holders) ?? null;
  if (Array.isArray(holder)) return holder.map((item, index) => inner(item, memberOf(source, index)));
  if (holder instanceof Map) return readMap(holder, inner);
  if (holder instanceof Set) return Array.from(holder, (item) => inner(item, undefined));
  if (ArrayBuffer.isView(holder))
    return bytesText(new Uint8Array(holder.buffer, holder.byteOffset, holder.byteLength));
  if (holder instanceof ArrayBuffer) return bytesText(new Uint8Array(holder));
  if (holder instanceof Date) return Number.isNaN(Number(holder)) ? 'Invalid Date' : holder.toISOString();
  if (holder instanceof RegExp || holder instanceof URL || holder instanceof URLSearchParams)
    return String(holder);
  if (holder instanceof String || holder instanceof Number || holder instanceof Boolean)
    return inner(holder.valueOf(), undefined);
  const { toJSON } = holder as { toJSON?: unknown };
  if (typeof toJSON === 'function') return read(toJSON.call(holder, ''), source, holders);
  const keys = Object.keys(holder);
  const prototype: unknown = Object.getPrototypeOf(holder);
  const isPlain = prototype === Object.prototype || prototype === null;
  if (keys.length === 0 && !isPlain) return fallback(source, holders.slice(0, -1));
  const members: { [key: string]: JsonValue } = {};
  for (const key of keys) {
    const member = read((holder as Record<string, unknown>)[key], memberOf(source, key), holders);
    if (member !== undefined) defineMember(members, key, member);
  }
  return members;
}

function readMap(
  map: ReadonlyMap<unknown, unknown>,
  inner: (value: unknown, from: unknown) => JsonValue,
): JsonValue {
  if (![...map.keys()].every((key) => typeof key === 'string'))
    return Array.from(map, ([key, value]) => [inner(key, undefined), inner(value, undefined)]);
  const members: { [key: string]: JsonValue } = {};
  for (const [key, value] of map) defineMember(members, key as string, inner(value, undefined));
  return members;
}

function bytesText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return Buffer.from(bytes).toString('base64');
  }
}

const memberOf = (source: unknown, key: string | number): unknown =>
  typeof source === 'object' && source !== null && Object.hasOwn(source, key)
    ? (source as Record<string | number, unknown>)[key]
    : undefined;
