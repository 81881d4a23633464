/**
 * Regular expressions that answer in time linear in their input, whatever the pattern. With find-matches.ts the one user of RE2JS.
 *
 * 1. `test` reads the whole text. Literals that a pattern cannot do without are looked for first, by the platform where
 *    they begin it and else by RE2JS, so a long text without them costs no more than a search for them.
 * 2. A pattern that RE2 cannot take (lookaround, backreference) is refused, with the way to rewrite it.
 */
import { RE2JS } from 're2js';
import { findMatches } from './find-matches.ts';
import { requiredText } from './required-text.ts';
import type { TextSpan } from './text-span.ts';
import { explainLongReference, explainUnsupportedConstruct } from './unsupported-construct.ts';

export type LinearRegex = {
  readonly source: string;
  /** Whether the pattern occurs anywhere in the text. */
  readonly test: (text: string) => boolean;
  /**
   * Where the pattern occurs, from left to right, without overlaps and without matches of nothing. Where finding them
   * one by one would take time beyond all proportion to the text, the last span is all of the rest.
   */
  readonly findAll: (text: string) => readonly TextSpan[];
};

export type RegexReading =
  { readonly ok: true; readonly regex: LinearRegex } | { readonly ok: false; readonly problem: string };

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

/** Spellings of other engines that mean one thing only: `\u20ac`, and `\Z` for the end of the text. */
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
  // What every match begins with is where the automaton may begin too: nothing before it can matter.
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
