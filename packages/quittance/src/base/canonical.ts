import { createHmac, hash } from 'node:crypto';
import type { JsonValue } from './json.ts';

/**
 * Writes a value in the one form RFC 8785 allows: no spaces, keys sorted by UTF-16 code units, numbers and strings as
 * ECMAScript writes them. Unlike the RFC, it escapes a lone surrogate instead of rejecting it.
 */
export function canonicalJson(value: JsonValue): string {
  return isCanonicalOrder(value) ? JSON.stringify(value) : writeSorted(value);
}

/** Does `JSON.stringify` write it in the canonical form? It does if all members are in order and have a JSON form. */
function isCanonicalOrder(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value !== 'object' || 'toJSON' in value) return false;
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) if (!isCanonicalOrder(item)) return false;
    return true;
  }
  let before = '';
  for (const key in value) {
    if (before > key || !Object.hasOwn(value, key)) return false;
    if (!isCanonicalOrder((value as Record<string, unknown>)[key])) return false;
    before = key;
  }
  return true;
}

function writeSorted(value: JsonValue): string {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? JSON.stringify(value) : String(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[])
      text += text === '' ? writeSorted(item) : `,${writeSorted(item)}`;
    return `[${text}]`;
  }
  const members = value as { readonly [key: string]: JsonValue };
  // The default order of sort() is by UTF-16 code units.
  for (const key of Object.keys(members).sort())
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${writeSorted(members[key] as JsonValue)}`;
  return `{${text}}`;
}

/** `sha256:<hex>` of the canonical form: equal for equal data, however it was written. */
export function digestJson(value: JsonValue): string {
  return `sha256:${hash('sha256', canonicalJson(value), 'hex')}`;
}

/** The same under a key, for data that could be guessed from a plain digest: `hmac-sha256:<hex>`. */
export function keyedDigestJson(key: Uint8Array, value: JsonValue): string {
  return `hmac-sha256:${createHmac('sha256', key).update(canonicalJson(value)).digest('hex')}`;
}

/** Was a digest made under a key? Then part of its data is hidden. */
export const isKeyedDigest = (digest: string): boolean => digest.startsWith('hmac-sha256:');
