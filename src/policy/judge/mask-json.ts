/**
 * Copies JSON with some of it hidden. Untouched parts are shared, and a value with nothing hidden is returned itself.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { defineMember } from '../../base/json.ts';
import { redacted } from '../../base/text-mask.ts';
import type { TextSpan } from '../regex/text-span.ts';

/** Decides about each value and each key, in the order in which JSON writes them. */
type Visit = {
  readonly scalar: (value: string | number | boolean | null) => JsonValue;
  readonly key: (key: string) => string;
  /** Called for the punctuation in between. */
  readonly punctuation: (length: number) => void;
};

const ignore = (): void => undefined;

/** Calls `mask` for every text, including keys. */
export const maskJsonTexts = (value: JsonValue, mask: (text: string) => string): JsonValue =>
  walk(value, {
    scalar: (scalar) => (typeof scalar === 'string' ? mask(scalar) : scalar),
    key: mask,
    punctuation: ignore,
  });

/**
 * Hides every value and key that one of the spans touches. The spans are merged and count from the start of the
 * value's JSON. Strings in that JSON are either escaped or plain. Quotes belong to no value.
 */
export function maskTouched(
  value: JsonValue,
  spans: readonly TextSpan[],
  spelling: 'escaped' | 'plain',
): JsonValue {
  if (spans.length === 0) return value;
  let at = 0;
  let next = 0;
  const isTouched = (start: number, end: number): boolean => {
    while (next < spans.length && (spans[next] as TextSpan)[1] <= start) next++;
    const span = spans[next];
    return span !== undefined && span[0] < end;
  };
  const pass = (length: number, quote: 0 | 1): boolean => {
    const start = at;
    at += length;
    return isTouched(start + quote, at - quote);
  };
  const passText = (text: string): boolean =>
    pass(spelling === 'plain' ? text.length + 2 : JSON.stringify(text).length, 1);
  return walk(value, {
    scalar: (scalar) => {
      const touched = typeof scalar === 'string' ? passText(scalar) : pass(String(scalar).length, 0);
      return touched ? redacted : scalar;
    },
    key: (key) => (passText(key) ? redacted : key),
    punctuation: (length) => {
      at += length;
    },
  });
}

function walk(value: JsonValue, visit: Visit): JsonValue {
  if (typeof value !== 'object' || value === null) return visit.scalar(value);
  // `isArray` does not narrow a union with a read-only list.
  return Array.isArray(value)
    ? walkItems(value as readonly JsonValue[], visit)
    : walkMembers(value as JsonObject, visit);
}

function walkItems(items: readonly JsonValue[], visit: Visit): JsonValue {
  visit.punctuation(1);
  const copy = items.map((item, index) => {
    if (index > 0) visit.punctuation(1);
    return walk(item, visit);
  });
  visit.punctuation(1);
  return copy.every((item, index) => item === items[index]) ? items : copy;
}

function walkMembers(members: JsonObject, visit: Visit): JsonValue {
  const copy: { [key: string]: JsonValue } = {};
  const pickKey = createKeyPicker(members);
  let isSame = true;
  let isFirst = true;
  visit.punctuation(1);
  for (const [key, member] of Object.entries(members)) {
    if (!isFirst) visit.punctuation(1);
    isFirst = false;
    const shown = visit.key(key);
    visit.punctuation(1);
    const kept = walk(member, visit);
    isSame &&= shown === key && kept === member;
    defineMember(copy, shown === key ? key : pickKey(shown), kept);
  }
  visit.punctuation(1);
  return isSame ? members : copy;
}

/** Keys that become equal get a number each, so that no member is lost. */
function createKeyPicker(members: JsonObject): (shown: string) => string {
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  return (shown) => {
    let picked = shown;
    let count = counts.get(shown) ?? 1;
    while (taken.has(picked) || Object.hasOwn(members, picked)) picked = `${shown} ${++count}`;
    counts.set(shown, count);
    taken.add(picked);
    return picked;
  };
}
