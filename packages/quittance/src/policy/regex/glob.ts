/**
 * Matches tool names and hosts: `*` any run of characters, `?` one, `[a-z]` and `[!a-z]` one of a set. Compares
 * UTF-16 units as given. Matching never throws, and its time is at most proportional to the product of both lengths.
 */

export type Glob = {
  readonly pattern: string;
  /** The only name it matches, if it has no wildcard. */
  readonly exact: string | undefined;
  readonly matches: (name: string) => boolean;
};

type Part = '*' | ((unit: number) => boolean);

export function compileGlob(pattern: string): Glob {
  if (!/[*?[]/.test(pattern)) return { pattern, exact: pattern, matches: (name) => name === pattern };
  if (pattern === '*') return { pattern, exact: undefined, matches: () => true };
  const parts = readParts(pattern);
  return { pattern, exact: undefined, matches: (name) => match(parts, name) };
}

function readParts(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const unit = pattern.charCodeAt(at);
    if (pattern[at] === '*') {
      if (parts.at(-1) !== '*') parts.push('*');
    } else if (pattern[at] === '?') parts.push(() => true);
    else if (pattern[at] === '[') {
      const set = readSet(pattern, at);
      parts.push(set === undefined ? (found) => found === unit : set.part);
      if (set !== undefined) at = set.end;
    } else parts.push((found) => found === unit);
  }
  return parts;
}

/** A set ends at its `]`; a `]` in first position belongs to it. Without an end, `[` is a literal. */
function readSet(pattern: string, start: number): { readonly part: Part; readonly end: number } | undefined {
  const negated = pattern[start + 1] === '!' || pattern[start + 1] === '^';
  const first = start + (negated ? 2 : 1);
  const end = pattern.indexOf(']', first + 1);
  if (end < 0) return undefined;
  const ranges: [low: number, high: number][] = [];
  for (let at = first; at < end; at++) {
    const low = pattern.charCodeAt(at);
    const isRange = pattern[at + 1] === '-' && at + 2 < end;
    ranges.push([low, isRange ? pattern.charCodeAt(at + 2) : low]);
    if (isRange) at += 2;
  }
  const has = (unit: number): boolean => ranges.some(([low, high]) => unit >= low && unit <= high);
  return { part: negated ? (unit) => !has(unit) : has, end };
}

function match(parts: readonly Part[], name: string): boolean {
  let part = 0;
  let at = 0;
  let lastStar = -1;
  let resumeAt = 0;
  while (at < name.length) {
    const wanted = parts[part];
    if (wanted === '*') {
      lastStar = part++;
      resumeAt = at;
    } else if (wanted?.(name.charCodeAt(at)) === true) {
      part++;
      at++;
    } else if (lastStar >= 0) {
      part = lastStar + 1;
      at = ++resumeAt;
    } else return false;
  }
  while (parts[part] === '*') part++;
  return part === parts.length;
}
