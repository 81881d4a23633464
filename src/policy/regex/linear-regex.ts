/**
 * Regular expressions that run in time linear in their input, whatever the pattern. Only this file and
 * find-matches.ts use RE2JS.
 *
 * 1. `test` reads the whole text. Literals that every match needs are searched first: by the platform if every match
 *    begins with one, else by RE2JS. So a long text without them costs no more than a search for them.
 * 2. A pattern that RE2 does not support (lookaround, backreference) is rejected, with a way to rewrite it.
 */
import { RE2JS } from 're2js';
import { findMatches } from './find-matches.ts';
import { requiredText } from './required-text.ts';
import type { TextSpan } from './text-span.ts';
import { explainLongReference, explainUnsupportedConstruct } from './unsupported-construct.ts';

export type LinearRegex = {
  readonly source: string;
  /** Does the pattern occur anywhere in the text? */
  readonly test: (text: string) => boolean;
  /**
   * All non-empty matches from left to right, without overlaps. If finding them one by one would take excessive time,
   * the last span covers the rest of the text.
   */
  readonly findAll: (text: string) => readonly TextSpan[];
};

export type RegexReading =
  | { readonly ok: true; readonly regex: LinearRegex }
  | { readonly ok: false; readonly problem: string };

export function parseRegex(pattern: string): RegexReading {
  try {
    const compiled = RE2JS.compile(translate(pattern));
    const problem = explainLongReference(pattern, compiled.groupCount());
    return problem === undefined ? { ok: true, regex: toLinear(pattern, compiled) } : { ok: false, problem };
  } catch (error) {
    const found =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    return { ok: false, problem: explainUnsupportedConstruct(pattern, found) ?? `${found}.` };
  }
}

const escapes = /\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|\\u([\da-f]{4})|\\Z|\\[^]/gi;

/** Spellings of other engines with only one meaning: `\u20ac`, and `\Z` for the end of the text. */
const translate = (pattern: string): string =>
  pattern.includes('\\Q')
    ? pattern
    : pattern.replace(escapes, (escape, high?: string, low?: string, unit?: string) => {
        if (high !== undefined && low !== undefined) {
          const pair = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
          return RE2JS.quote(pair);
        }
        if (unit !== undefined && escape.startsWith('\\u')) return `\\x{${unit}}`;
        return escape === '\\Z' ? '\\z' : escape;
      });

function toLinear(pattern: string, compiled: RE2JS): LinearRegex {
  const required = requiredText(pattern);
  // Every match begins with such a literal, so the automaton may start at the first one.
  const startIn = required === undefined ? () => 0 : (text: string) => text.search(required);
  return {
    source: pattern,
    test: (text) => {
      const start = startIn(text);
      return start >= 0 && compiled.test(start === 0 ? text : text.slice(start));
    },
    findAll: (text) => {
      const start = startIn(text);
      if (start < 0) return [];
      const spans = findMatches(compiled, start === 0 ? text : text.slice(start));
      return start === 0 ? spans : spans.map(([from, to]): TextSpan => [from + start, to + start]);
    },
  };
}
