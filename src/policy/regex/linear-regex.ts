/**
 * Regular expressions that answer in time linear in their input, whatever the pattern. With find-matches.ts the one user of RE2JS.
 *
 * 1. `test` reads the whole text. Literals that a pattern cannot do without are looked for first, by the platform where
 *    they begin it and else by RE2JS, so a long text without them costs no more than a search for them.
 * 2. A pattern no automaton can follow (lookaround, backreference) is refused, unless the host allows backtracking.
 *    Then a machine of our own takes it, which counts its steps and gives up after so many in proportion to the text.
 *    That is an error and never an answer; no text is cut.
 */
import { RE2JS } from 're2js';
import type { StepBudget } from './backtracking-program.ts';
import { runProgram, TooManySteps } from './backtracking-program.ts';
import { findMatches } from './find-matches.ts';
import type { BacktrackingProgram } from './parse-backtracking.ts';
import { parseBacktracking } from './parse-backtracking.ts';
import { requiredText } from './required-text.ts';
import type { TextSpan } from './text-span.ts';

export type LinearRegex = {
  readonly source: string;
  /** Whether the pattern occurs anywhere in the text. Undefined where one that backtracks gave up: nobody knows. */
  readonly test: (text: string) => boolean | undefined;
  /**
   * Where the pattern occurs, from left to right, without overlaps and without matches of nothing. Where finding them
   * one by one would take time beyond all proportion to the text, the last span is all of the rest.
   */
  readonly findAll: (text: string) => readonly TextSpan[];
};

export type RegexReading =
  { readonly ok: true; readonly regex: LinearRegex } | { readonly ok: false; readonly problem: string };

export type RegexOptions = {
  /** Takes by bounded backtracking what the linear engine cannot. */
  readonly allowBacktracking?: boolean | undefined;
};

export function parseRegex(pattern: string, options: RegexOptions = {}): RegexReading {
  try {
    return { ok: true, regex: toLinear(pattern, RE2JS.compile(translate(pattern))) };
  } catch (error) {
    const found =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    const construct = nameConstruct(found);
    if (construct === undefined) return { ok: false, problem: `${found}.` };
    if (options.allowBacktracking === true) return parseCounting(pattern);
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

function parseCounting(pattern: string): RegexReading {
  try {
    return { ok: true, regex: toCounting(pattern, parseBacktracking(pattern)) };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: `not even backtracking can take it: ${found}.` };
  }
}

function toCounting(pattern: string, program: BacktrackingProgram): LinearRegex {
  return {
    source: pattern,
    test: (text) => {
      try {
        return nextMatch(program, text, 0, stepsFor(text)) !== undefined;
      } catch (error) {
        if (error instanceof TooManySteps) return undefined;
        throw error;
      }
    },
    findAll: (text) => {
      const spans: TextSpan[] = [];
      const budget = stepsFor(text);
      let at = 0;
      try {
        for (
          let found = nextMatch(program, text, 0, budget);
          found;
          found = nextMatch(program, text, at, budget)
        ) {
          if (found[0] < found[1]) spans.push(found);
          at = Math.max(found[1], found[0] + 1);
        }
      } catch (error) {
        if (!(error instanceof TooManySteps)) throw error;
        spans.push([at, text.length]);
      }
      return spans;
    },
  };
}

/** Some for the pattern, some for each unit of the text: in all linear in it. */
const stepsFor = (text: string): StepBudget => ({ left: 1_000_000 + 50 * text.length });

function nextMatch(
  { steps, registers }: BacktrackingProgram,
  text: string,
  from: number,
  budget: StepBudget,
): TextSpan | undefined {
  for (let start = from; start <= text.length; start++) {
    const end = runProgram(
      steps,
      text,
      start,
      Array.from({ length: registers }, () => -1),
      budget,
    );
    if (end >= 0) return [start, end];
  }
  return undefined;
}
