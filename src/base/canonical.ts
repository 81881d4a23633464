import { createHmac, hash } from 'node:crypto';
import type { JsonValue } from './json.ts';

/**
 * Writes a value in the one form RFC 8785 allows: no spaces, keys sorted by UTF-16 code units, numbers and strings as
 * ECMAScript writes them. Unlike the RFC, it escapes a lone surrogate instead of rejecting it.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return quoteText(value);
  if (typeof value !== 'object' || value === null) return String(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[])
      text += text === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
    return `[${text}]`;
  }
  const members = value as { readonly [key: string]: JsonValue };
  if (!isSorted(members)) {
    // The default order of sort() is by UTF-16 code units.
    for (const key of Object.keys(members).sort()) text += writeMember(text, key, members[key] as JsonValue);
    return `{${text}}`;
  }
  for (const key in members)
    if (Object.hasOwn(members, key)) text += writeMember(text, key, members[key] as JsonValue);
  return `{${text}}`;
}

const writeMember = (before: string, key: string, value: JsonValue): string =>
  `${before === '' ? '' : ','}${quoteText(key)}:${canonicalJson(value)}`;

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

/** Most strings need no escapes, and checking that is cheaper than `JSON.stringify`. */
const quoteText = (text: string): string =>
  text.length < 100 && /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/.test(text) ? `"${text}"` : JSON.stringify(text);

function isSorted(members: object): boolean {
  let before = '';
  for (const key in members) {
    if (before > key) return false;
    before = key;
  }
  return true;
}
