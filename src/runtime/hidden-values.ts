/**
 * A secret that was hidden by its key name in the input ("password") is an ordinary word everywhere else. Where a
 * tool or a validator echoes it, only its value gives it away.
 */
import type { JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { redacted } from '../base/secret-mask.ts';

/** Shorter values would be found in innocent text. */
const shortest = 4;

/** The values that stand in `input` and were hidden in `kept`, longest first. */
export function collectHidden(input: JsonValue, kept: JsonValue): readonly string[] {
  const found = new Set<string>();
  compare(input, kept, found);
  return [...found].sort((left, right) => right.length - left.length);
}

function compare(input: JsonValue, kept: JsonValue, found: Set<string>): void {
  if (input === kept) return;
  if (kept === redacted) collectLeaves(input, found);
  else if (Array.isArray(input) && Array.isArray(kept))
    for (const [index, item] of input.entries()) compare(item, kept[index] ?? null, found);
  else if (isJsonObject(input) && isJsonObject(kept))
    for (const key of Object.keys(input))
      if (Object.hasOwn(kept, key)) compare(input[key] ?? null, kept[key] ?? null, found);
}

function collectLeaves(value: JsonValue, found: Set<string>): void {
  if (typeof value === 'string' || typeof value === 'number') {
    if (String(value).length >= shortest) found.add(String(value));
  } else if (Array.isArray(value)) for (const item of value) collectLeaves(item, found);
  else if (isJsonObject(value)) for (const item of Object.values(value)) collectLeaves(item, found);
}

export function scrubText(text: string, hidden: readonly string[]): string {
  let clean = text;
  for (const value of hidden) clean = clean.replaceAll(value, redacted);
  return clean;
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
