/**
 * Regular expressions that answer in time linear in their input, whatever the pattern. With find-matches.ts the one user of RE2JS.
 *
 * 1. `test` reads the whole text. Literals that a pattern cannot do without are looked for first, by the platform where
 *    they begin it and else by RE2JS, so a long text without them costs no more than a search for them.
 * 2. A pattern no automaton can follow (lookaround, backreference) is refused, unless the host allows backtracking.
 *    Then the platform's engine takes it, whose time has no bound in the length of the text: so texts longer than
 *    `mostUnits` are not to be given to it, and whoever would is to report an error instead of cutting the text.
 */
import { RE2JS } from 're2js';
import { findMatches } from './find-matches.ts';
import { requiredText } from './required-text.ts';
import type { TextSpan } from './text-span.ts';

export type LinearRegex = {
  readonly source: string;
  /** The longest text it may be asked about, in UTF-16 units. Infinite unless it needs backtracking. */
  readonly mostUnits: number;
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

export type RegexOptions = {
  /** Lets the platform's backtracking engine take what the linear one cannot, on short texts. */
  readonly allowBacktracking?: boolean | undefined;
};

/** Short enough that what is merely quadratic or cubic in the text stays a matter of seconds. */
const mostBacktrackedUnits = 4_096;

export function parseRegex(pattern: string, options: RegexOptions = {}): RegexReading {
  try {
    return { ok: true, regex: toLinear(pattern, RE2JS.compile(translate(pattern))) };
  } catch (error) {
    const found =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    const construct = nameConstruct(found);
    if (construct === undefined) return { ok: false, problem: `${found}.` };
    if (options.allowBacktracking === true) return parseBacktracking(pattern);
    return {
      ok: false,
      problem:
        `it uses ${construct}, which the linear engine cannot take: no engine can answer it in time linear in the ` +
        'text. Write it without, or let the host allow backtracking.',
    };
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
    mostUnits: Number.POSITIVE_INFINITY,
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

const constructs: readonly (readonly [opening: RegExp, name: string])[] = [
  [/`\(\?=/, 'lookahead `(?=`'],
  [/`\(\?!/, 'negative lookahead `(?!`'],
  [/`\(\?<=/, 'lookbehind `(?<=`'],
  [/`\(\?<!/, 'negative lookbehind `(?<!`'],
  [/`\\[1-9]/, 'a backreference'],
  [/`\\k/, 'a named backreference `\\k`'],
];

/** What in the engine's words is no mistake but beyond it. */
const nameConstruct = (problem: string): string | undefined =>
  constructs.find(([opening]) => opening.test(problem))?.[1];

/**
 * The same pattern for the platform. Flags in front become flags, and `u` makes it refuse what it would otherwise read
 * as something else, such as `\A`.
 */
function parseBacktracking(pattern: string): RegexReading {
  const [prefix = '', flags = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  try {
    const body = pattern.slice(prefix.length).replaceAll('(?P<', '(?<');
    const compiled = new RegExp(body, [...new Set(`${flags}ug`)].join(''));
    return { ok: true, regex: toBacktracking(pattern, compiled) };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: `the platform's engine cannot take it either: ${found}.` };
  }
}

function toBacktracking(pattern: string, compiled: RegExp): LinearRegex {
  return {
    source: pattern,
    mostUnits: mostBacktrackedUnits,
    // `search` and `matchAll` keep no position in the pattern, which is shared.
    test: (text) => text.search(compiled) >= 0,
    findAll: (text) =>
      [...text.matchAll(compiled)]
        .map(({ 0: found, index }): TextSpan => [index, index + found.length])
        .filter(([start, end]) => start < end),
  };
}
