/**
 * A secret that was hidden by its key name in the input ("password") is an ordinary word everywhere else. Where a
 * tool or a validator echoes it, only its value gives it away.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { redacted } from '../base/secret-mask.ts';

/** Shorter values would be found in innocent text. */
const shortest = 4;

/** The values that stand in `input` and were hidden in `kept`, in every form they are likely to be echoed in. */
export function collectHidden(input: JsonValue, kept: JsonValue): readonly string[] {
  const found = new Set<string>();
  compare(input, kept, found);
  return longestFirst([...found].flatMap(formsOf));
}

/** A value is replaced before one that is a part of it. */
export const longestFirst = (values: Iterable<string>): readonly string[] =>
  [...new Set(values)].sort((left, right) => right.length - left.length);

/** As it is, inside JSON text, inside a URL. */
function formsOf(value: string): readonly string[] {
  const quoted = JSON.stringify(value).slice(1, -1);
  return [value, quoted, ...(value.isWellFormed() ? [encodeURIComponent(value)] : [])];
}

function compare(input: JsonValue, kept: JsonValue, found: Set<string>): void {
  if (input === kept) return;
  if (kept === redacted) collectLeaves(input, found);
  else if (typeof kept === 'string')
    collectMasked(`${input as string | number}`, kept, found); // only these are masked in part
  else if (Array.isArray(input) && Array.isArray(kept))
    for (const [index, item] of input.entries()) compare(item, kept[index] ?? null, found);
  else if (isJsonObject(input) && isJsonObject(kept)) compareMembers(input, kept, found);
}

/** Keys may have been masked too: the members whose names are gone stand under the new names, in their order. */
function compareMembers(input: JsonObject, kept: JsonObject, found: Set<string>): void {
  const masked = Object.keys(kept).filter((key) => !Object.hasOwn(input, key));
  for (const key of Object.keys(input)) {
    const keptKey = Object.hasOwn(kept, key) ? key : (masked.shift() ?? key);
    if (keptKey !== key) collectMasked(key, keptKey, found);
    compare(input[key] ?? null, kept[keptKey] ?? null, found);
  }
}

/** What stood where the kept text has a mask; the rest of the two is the same. */
function collectMasked(input: string, kept: string, found: Set<string>): void {
  const [head = '', ...pieces] = kept.split(redacted);
  let start = head.length;
  for (const [index, piece] of pieces.entries()) {
    const isLast = index === pieces.length - 1;
    const end =
      isLast || piece === '' ? input.length - (isLast ? piece.length : 0) : input.indexOf(piece, start + 1);
    if (end < start) return;
    const value = input.slice(start, end);
    if (value.length >= shortest && value !== redacted) found.add(value);
    start = end + piece.length;
  }
}

function collectLeaves(value: JsonValue, found: Set<string>): void {
  if (typeof value === 'string' || typeof value === 'number') {
    if (String(value).length >= shortest) found.add(String(value));
  } else if (Array.isArray(value)) for (const item of value) collectLeaves(item, found);
  else if (isJsonObject(value)) for (const item of Object.values(value)) collectLeaves(item, found);
}

export function scrubText(text: string, hidden: readonly string[]): string {
  if (hidden.length === 0) return text;
  let clean = text;
  for (const value of hidden) clean = clean.replaceAll(value, redacted);
  return hideBeginnings(clean, hidden);
}

/** Whoever shortens a text leaves `…` behind, and before it perhaps the beginning of a secret. */
function hideBeginnings(text: string, hidden: readonly string[]): string {
  let clean = text;
  for (let at = clean.indexOf('…'); at !== -1; at = clean.indexOf('…', at + 1)) {
    const length = Math.max(...hidden.map((value) => lengthBefore(clean, at, value)));
    if (length === 0) continue;
    clean = `${clean.slice(0, at - length)}${redacted}${clean.slice(at)}`;
    at += redacted.length - length;
  }
  return clean;
}

/** How much of the beginning of `value` stands right before `at`. */
function lengthBefore(text: string, at: number, value: string): number {
  for (let length = Math.min(value.length, at); length >= shortest; length--)
    if (text.startsWith(value.slice(0, length), at - length)) return length;
  return 0;
}

/** The same object where nothing had to be hidden. */
export function scrubJson(value: JsonValue, hidden: readonly string[]): JsonValue {
  if (hidden.length === 0) return value;
  if (typeof value === 'string') return scrubText(value, hidden);
  if (typeof value === 'number') return hidden.includes(String(value)) ? redacted : value;
  if (Array.isArray(value)) return value.map((item) => scrubJson(item, hidden));
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [scrubText(key, hidden), scrubJson(item, hidden)]),
    );
  return value;
}
