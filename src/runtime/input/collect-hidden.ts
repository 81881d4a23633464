/** Finds hidden values by comparing a payload with its stored form, for code that has only these two. */
import type { JsonObject, JsonPath, JsonValue } from '../../base/json.ts';
import { formatPath, isJsonObject } from '../../base/json.ts';
import { shortestEchoed as shortest } from '../../base/known-secrets.ts';
import { redacted } from '../../base/text-mask.ts';

/** The values of `input` that are hidden in `kept`. */
export function collectHidden(input: JsonValue, kept: JsonValue): readonly string[] {
  const found = new Set<string>();
  compare(input, kept, found);
  return [...found];
}

function compare(input: JsonValue, kept: JsonValue, found: Set<string>): void {
  if (input === kept) return;
  if (kept === redacted) collectLeaves(input, found);
  else if (typeof kept === 'string') collectMasked(`${input as string | number}`, kept, found); // only these are masked in part
  else if (Array.isArray(input) && Array.isArray(kept))
    for (const [index, item] of input.entries()) compare(item, kept[index] ?? null, found);
  else if (isJsonObject(input) && isJsonObject(kept)) compareMembers(input, kept, found);
}

/** Keys may be masked too. Such members are matched by their order. */
function compareMembers(input: JsonObject, kept: JsonObject, found: Set<string>): void {
  const masked = Object.keys(kept).filter((key) => !Object.hasOwn(input, key));
  for (const key of Object.keys(input)) {
    const keptKey = Object.hasOwn(kept, key) ? key : (masked.shift() ?? key);
    if (keptKey !== key) collectMasked(key, keptKey, found);
    compare(input[key] ?? null, kept[keptKey] ?? null, found);
  }
}

/** The text at the position of a mask; the rest of the two texts is equal. */
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

/** The paths whose whole value is hidden in a stored form. */
export function maskedPaths(kept: JsonValue | undefined, at: JsonPath = []): readonly string[] {
  if (kept === redacted) return [formatPath(at)];
  if (Array.isArray(kept)) return kept.flatMap((item: JsonValue, index) => maskedPaths(item, [...at, index]));
  if (!isJsonObject(kept)) return [];
  return Object.entries(kept).flatMap(([key, value]) => maskedPaths(value, [...at, key]));
}
