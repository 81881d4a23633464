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

export type LinearRegex = {
  readonly source: string;
  /** The longest text it may be asked about, in UTF-16 units. Infinite unless it needs backtracking. */
  readonly mostUnits: number;
  /** Whether the pattern occurs anywhere in the text. */
  readonly test: (text: string) => boolean;
  /** Where the pattern occurs, from left to right, without overlaps and without matches of nothing. */
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
    return { ok: true, regex: toLinear(pattern, RE2JS.compile(pattern)) };
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

function toLinear(pattern: string, compiled: RE2JS): LinearRegex {
  return {
    source: pattern,
    mostUnits: Number.POSITIVE_INFINITY,
    test: (text) => compiled.test(text),
    findAll: (text) => {
      const spans: TextSpan[] = [];
      // The automaton that only says yes or no is many times faster than the one that says where.
      if (!compiled.test(text)) return spans;
      const matcher = compiled.matcher(text);
      while (matcher.find())
        if (matcher.start() < matcher.end()) spans.push([matcher.start(), matcher.end()]);
      return spans;
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
