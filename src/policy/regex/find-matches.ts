import type { Matcher, RE2JS } from 're2js';
import { CountedText, LookedTooOften } from './counted-text.ts';
import type { TextSpan } from './text-span.ts';

/** Few matches cost little, whatever the pattern: reads are counted only beyond this number. */
const mostUncounted = 8;
/** The engine reads each unit about three times per pass over the text. */
const looksPerUnit = 30;

/**
 * Finds all non-empty matches. If finding them one by one costs too much, the last span covers the rest of the text.
 */
export function findMatches(pattern: RE2JS, text: string): readonly TextSpan[] {
  // The automaton that only answers yes or no is many times faster than the one that finds positions.
  if (!pattern.test(text)) return [];
  const spans: TextSpan[] = [];
  if (!findSome(pattern.matcher(text), spans, mostUncounted)) return spans;
  spans.length = 0;
  try {
    // The declaration does not accept String objects; the engine does.
    const counted = new CountedText(text, looksPerUnit * text.length) as unknown as string;
    findSome(pattern.matcher(counted), spans, Number.POSITIVE_INFINITY);
  } catch (error) {
    if (!(error instanceof LookedTooOften)) throw error;
    spans.push([spans.at(-1)?.[1] ?? 0, text.length]);
  }
  return spans;
}

/** Returns true if it stopped at the limit. Empty matches count too, because they cost as much. */
function findSome(matcher: Matcher, spans: TextSpan[], most: number): boolean {
  for (let count = 0; matcher.find();) {
    if (matcher.start() < matcher.end()) spans.push([matcher.start(), matcher.end()]);
    if (++count >= most) return true;
  }
  return false;
}
