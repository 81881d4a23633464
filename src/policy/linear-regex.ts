/**
 * Regular expressions that answer in time linear in their input, whatever the pattern. The one user of RE2JS.
 *
 * 1. `test` reads the whole text, once. RE2JS looks for the literals a pattern cannot do without before it starts its
 *    automaton, so a long text without them costs no more than a search for them.
 * 2. A pattern no automaton can follow (lookaround, backreference) is refused, unless the host allows backtracking.
 *    Then the platform's engine takes it, whose time has no bound in the length of the text: so texts longer than
 *    `mostUnits` are not to be given to it, and whoever would is to report an error instead of cutting the text.
 */
import { RE2JS } from 're2js';
import type { Matcher } from 're2js';
import { CountedText, LookedTooOften } from './counted-text.ts';

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

/** From the first unit to the one after the last. */
export type TextSpan = readonly [start: number, end: number];

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
  return {
    source: pattern,
    mostUnits: Number.POSITIVE_INFINITY,
    test: (text) => compiled.test(text),
    findAll: (text) => {
      // The automaton that only says yes or no is many times faster than the one that says where.
      if (!compiled.test(text)) return [];
      const spans: TextSpan[] = [];
      if (!findSome(compiled.matcher(text), spans, mostUncounted)) return spans;
      try {
        // The declaration knows no objects that are strings; the engine does.
        const counted = new CountedText(text, looksPerUnit * text.length) as unknown as string;
        spans.length = 0;
        findSome(compiled.matcher(counted), spans, Number.POSITIVE_INFINITY);
      } catch (error) {
        if (!(error instanceof LookedTooOften)) throw error;
        spans.push([spans.at(-1)?.[1] ?? 0, text.length]);
      }
      return spans;
    },
  };
}

/** Few matches cost little, whatever the pattern: only for more are the looks counted. */
const mostUncounted = 8;
/** The engine looks at a unit about three times on a way through the text. */
const looksPerUnit = 100;

/** Finds up to so many, and says whether it stopped because of that. */
function findSome(matcher: Matcher, spans: TextSpan[], most: number): boolean {
  while (matcher.find()) {
    if (matcher.start() < matcher.end()) spans.push([matcher.start(), matcher.end()]);
    if (spans.length >= most) return true;
  }
  return false;
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
