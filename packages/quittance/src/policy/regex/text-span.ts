import { redacted } from '../../base/secret-pattern.ts';

/** Part of a text, from its first unit to the one after its last. */
export type TextSpan = readonly [start: number, end: number];

/** In order, without overlaps. */
export function mergeSpans(spans: readonly TextSpan[]): readonly TextSpan[] {
  if (spans.length < 2) return spans;
  const sorted = [...spans].sort(([left], [right]) => left - right);
  const merged: [start: number, end: number][] = [];
  for (const [start, end] of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** The text with each of the merged spans hidden. */
export function maskSpans(text: string, spans: readonly TextSpan[]): string {
  let masked = '';
  let done = 0;
  for (const [start, end] of spans) {
    masked += text.slice(done, start) + redacted;
    done = end;
  }
  return masked + text.slice(done);
}

/** Does one of the spans, which are in order, contain it completely? */
export function inSomeSpan([start, end]: TextSpan, spans: readonly TextSpan[]): boolean {
  let low = 0;
  let high = spans.length;
  // The first span that ends at or after `end` is the only candidate.
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle] as TextSpan)[1] < end) low = middle + 1;
    else high = middle;
  }
  const found = spans[low];
  return found !== undefined && found[0] <= start;
}
