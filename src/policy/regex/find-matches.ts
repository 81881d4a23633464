import type { Matcher, RE2JS } from 're2js';
import { CountedText, LookedTooOften } from './counted-text.ts';
import type { TextSpan } from './text-span.ts';

/** Few matches cost little, whatever the pattern: only for more are the looks counted. */
const mostUncounted = 8;
/** The engine looks at a unit about three times on a way through the text. */
const looksPerUnit = 30;

/** All matches of something. Where they cost too much one by one, the last of them is all of the rest. */
export function findMatches(pattern: RE2JS, text: string): readonly TextSpan[] {
  // The automaton that only says yes or no is many times faster than the one that says where.
  if (!pattern.test(text)) return [];
  const spans: TextSpan[] = [];
  if (!findSome(pattern.matcher(text), spans, mostUncounted)) return spans;
  spans.length = 0;
  try {
    // The declaration knows no objects that are strings; the engine does.
    const counted = new CountedText(text, looksPerUnit * text.length) as unknown as string;
    findSome(pattern.matcher(counted), spans, Number.POSITIVE_INFINITY);
  } catch (error) {
    if (!(error instanceof LookedTooOften)) throw error;
    spans.push([spans.at(-1)?.[1] ?? 0, text.length]);
  }
  return spans;
}

/** Says whether it stopped because it had found so many, matches of nothing included: they cost as much. */
function findSome(matcher: Matcher, spans: TextSpan[], most: number): boolean {
  for (let count = 0; matcher.find();) {
    if (matcher.start() < matcher.end()) spans.push([matcher.start(), matcher.end()]);
    if (++count >= most) return true;
  }
  return false;
}
