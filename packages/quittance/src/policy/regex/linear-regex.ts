/**
 * Regular expressions that run in time linear in their input, whatever the pattern. Only this file uses RE2JS.
 *
 * 1. `test` reads the whole text. Literals that every match needs are searched first: by the platform if every match
 *    begins with one, else by RE2JS. So a long text without them costs no more than a search for them.
 * 2. A pattern that RE2 does not support (lookaround, backreference) is rejected, with a way to rewrite it.
 * 3. One lookaround is supported: `^(?!a)b` is compiled as two patterns, because it means `^b` and not `^a`.
 */
import { createRequire } from 'node:module';
import type * as re2js from 're2js';
import type { TextSpan } from './text-span.ts';
import type { Matcher, RE2JS } from 're2js';

const load = createRequire(import.meta.url);
/** Loaded with the first pattern: most programs have none. */
const engine = (): typeof RE2JS => (load('re2js') as typeof re2js).RE2JS; // as its declarations say

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
  const split = splitLookaheads(pattern);
  const parts = split?.map(parsePlain);
  const read = parts?.flatMap((part) => (part.ok ? [part.regex] : []));
  const rest = read?.at(-1);
  // If a part cannot be read, the whole pattern is reported, because its author knows only that.
  if (read === undefined || rest === undefined || read.length !== parts?.length) return parsePlain(pattern);
  const excluded = read.slice(0, -1);
  const isExcluded = (text: string): boolean => excluded.some((regex) => regex.test(text));
  return {
    ok: true,
    regex: {
      source: pattern,
      test: (text) => !isExcluded(text) && rest.test(text),
      findAll: (text) => (isExcluded(text) ? [] : rest.findAll(text)),
    },
  };
}

/** People write one or two; each is searched for on its own. */
const mostLookaheads = 20;

/**
 * The parts of a pattern that begins with negative lookaheads at the start of the text: what must not match, and last
 * what must match. Undefined for any other pattern. Under the flag `m` each line has a start, so it is not split.
 */
function splitLookaheads(pattern: string): readonly string[] | undefined {
  const [opening, start = ''] = /^((?:\(\?[isU]+\))?(?:\^|\\A))\(\?!/.exec(pattern) ?? [];
  // A quoted part could hide a bracket, and a backreference could refer into a lookahead.
  if (opening === undefined || /\\[Q1-9]/.test(pattern)) return undefined;
  const parts: string[] = [];
  let rest = pattern.slice(start.length);
  while (rest.startsWith('(?!')) {
    const end = findGroupEnd(rest, 3);
    // A repeated lookahead means something else.
    if (end === undefined || /^(?:[*+?]|\{\d)/.test(rest.slice(end + 1))) return undefined;
    parts.push(`${start}(?:${rest.slice(3, end)})`);
    rest = rest.slice(end + 1);
    if (parts.length > mostLookaheads) return undefined;
  }
  // In `^(?!a)b|c` the lookahead is only in the first alternative.
  return hasTopLevelChoice(rest) ? undefined : [...parts, `${start}${rest}`];
}

/** The position of the `)` that closes the group whose content begins at `from`. */
function findGroupEnd(pattern: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < pattern.length; at++) {
    const unit = pattern[at];
    if (unit === '\\') at++;
    else if (unit === '[') {
      const [set] = /^\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]/.exec(pattern.slice(at)) ?? [];
      if (set === undefined) return undefined;
      at += set.length - 1;
    } else if (unit === '(') depth++;
    else if (unit === ')' && depth-- === 0) return at;
  }
  return undefined;
}

function parsePlain(pattern: string): RegexReading {
  try {
    const compiled = engine().compile(translate(pattern));
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
          return engine().quote(pair);
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

/** Thrown by a text that was read more often than allowed. The code that set the bound catches it. */
class LookedTooOften extends Error {}

/**
 * A text that counts how often it is read. An engine that is linear for one match is not linear for all matches.
 * While it hopes for a longer match, each short match costs a scan of the rest. Counting reads is independent of the
 * machine; measuring time is not.
 */
class CountedText extends String {
  readonly #text: string;
  #left: number;

  constructor(text: string, mostLooks: number) {
    super(text);
    this.#text = text;
    this.#left = mostLooks;
  }

  override charCodeAt(index: number): number {
    if (--this.#left < 0) throw new LookedTooOften();
    return this.#text.charCodeAt(index);
  }
}

/** Few matches cost little, whatever the pattern: reads are counted only beyond this number. */
const mostUncounted = 8;
/** The engine reads each unit about three times per pass over the text. */
const looksPerUnit = 30;

/**
 * Finds all non-empty matches. If finding them one by one costs too much, the last span covers the rest of the text.
 */
function findMatches(pattern: RE2JS, text: string): readonly TextSpan[] {
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

/**
 * A fast platform search for literals, one of which begins every match of a pattern. It skips long outputs without
 * any of them quickly. Undefined if the start of the pattern shows no such literals.
 */

/** A run of literal characters. */
const literalRun = /^[\w \-=:/@#%&,;"'<>~!]+/;
/** Words in one group: `(password|secret)`. */
const literalGroup = /^\((?:\?:)?([\w \-=:/@#%&,;"'<>~!]+(?:\|[\w \-=:/@#%&,;"'<>~!]+)+)\)/;

export function requiredText(pattern: string): RegExp | undefined {
  const [flags = ''] = /^\(\?i\)/.exec(pattern) ?? [];
  const body = pattern.slice(flags.length);
  // A further top-level alternative could begin with anything.
  if (hasTopLevelChoice(body)) return undefined;
  const literals = readGroup(body) ?? readRun(body);
  if (literals === undefined) return undefined;
  // Under `u` the platform folds case by the same simple rules of Unicode as the linear engine: ſ is an s.
  return new RegExp(literals.join('|'), flags === '' ? '' : 'iu');
}

/** Flags in between have no effect on it: in `ab(?i)*` the b is repeated. */
const isRepeated = (rest: string): boolean => /^(?:\(\?[a-zA-Z-]*\))*[*?{]/.test(rest);

function readGroup(body: string): readonly string[] | undefined {
  const [all = '', words] = literalGroup.exec(body) ?? [];
  return words === undefined || isRepeated(body.slice(all.length)) ? undefined : words.split('|');
}

/** If the last character of the run is repeated, a match may omit it. A single letter is too common to search for. */
function readRun(body: string): readonly string[] | undefined {
  const [run = ''] = literalRun.exec(body) ?? [];
  const sure = isRepeated(body.slice(run.length)) ? run.slice(0, -1) : run;
  return sure.length < 2 ? undefined : [sure];
}

/** True if unsure: classes and escapes are read only by their first and last characters. */
function hasTopLevelChoice(body: string): boolean {
  // An escaped `|` or one in a class is not a choice; `[]a]` and `[^]a]` keep their first bracket.
  const bare = body.replaceAll(/\\[^]|\[\^?\]?(?:\\[^]|\[:\w+:\]|[^\]\\])*\]/g, '.');
  let depth = 0;
  for (const char of bare)
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === '|' && depth <= 0) return true;
  return bare.includes('[') || quotes.test(body);
}

/** `\Q…\E` quotes the text in between. */
const quotes = /\\Q/;

/** Constructs of other regex engines that RE2 does not support, with a way to rewrite each of them. */

type Construct = {
  /** Matches the start of the construct. */
  readonly opening: RegExp;
  /** In words, after "it uses". */
  readonly name: string;
  readonly rewrite: string;
};

const constructs: readonly Construct[] = [
  {
    opening: /^\(\?=/,
    name: 'lookahead `(?=`',
    rewrite:
      'Match each part in its own condition and join them with `all`, or include the following text in ' +
      'the pattern: `ab` for `a(?=b)`.',
  },
  {
    opening: /^\(\?!/,
    name: 'negative lookahead `(?!`',
    rewrite:
      'Match the forbidden text in a second condition under `not` and join both with `all` (in a ' +
      'workflow: `command_not_matches`). Or list what may follow: `a(?:[^b]|$)` for `a(?!b)`.',
  },
  {
    opening: /^\(\?<=/,
    name: 'lookbehind `(?<=`',
    rewrite: 'Include the preceding text in the pattern: `ab` for `(?<=a)b`.',
  },
  {
    opening: /^\(\?<!/,
    name: 'negative lookbehind `(?<!`',
    rewrite:
      'List what may come before: `(?:^|[^a])b` for `(?<!a)b`. Or match the unwanted text in a second ' +
      'condition under `not` and join both with `all`.',
  },
  {
    opening: /^(?:\(\?(?:R|P>|&|[+-]?\d)|\\g(?:<|'))/,
    name: 'recursion',
    rewrite: 'Write out as many levels as the text may have.',
  },
  {
    opening: /^(?:\\[1-9k]|\\g|\(\?P=)/,
    name: 'a backreference',
    rewrite:
      'Write out the alternatives: `"[^"]*"|\'[^\']*\'` for `(["\']).*?\\1`. If they are too many, register an operator of your own.',
  },
  {
    opening: /^\(\?>/,
    name: 'an atomic group `(?>`',
    rewrite: 'Write a plain group, `(?:…)`: matching takes linear time without it.',
  },
  {
    opening: /^(?:[*+?]|\{[\d,]+\})\+/,
    name: 'a possessive quantifier',
    rewrite: 'Remove its last `+`: matching takes linear time without it.',
  },
  {
    opening: /^\(\?\(/,
    name: 'a conditional group `(?(`',
    rewrite: 'Write out both cases as alternatives, joined with `|`.',
  },
  {
    opening: /^\(\?\|/,
    name: 'a branch reset group `(?|`',
    rewrite: 'Write a plain group, `(?:…|…)`.',
  },
  {
    opening: /^\(\?'/,
    name: "a group named with quotes `(?'`",
    rewrite: 'Write the name in angle brackets: `(?<name>…)`.',
  },
  {
    opening: /^\(\?#/,
    name: 'a comment `(?#`',
    rewrite: 'Remove it, or write a YAML comment.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]*x/,
    name: 'the flag `x`',
    rewrite: 'Remove the flag, and the spaces and comments that it permits.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]/,
    name: 'a flag other than `i`, `m`, `s` and `U`',
    rewrite: 'Remove it.',
  },
  {
    opening: /^\\K/,
    name: '`\\K`',
    rewrite: 'Remove it: then the text before it is part of the match.',
  },
  {
    opening: /^\\G/,
    name: '`\\G`',
    rewrite: 'Anchor the pattern with `^`, or remove it.',
  },
  { opening: /^\\h/, name: '`\\h`', rewrite: 'Write `[ \\t]`.' },
  { opening: /^\\H/, name: '`\\H`', rewrite: 'Write `[^ \\t]`.' },
  { opening: /^\\N/, name: '`\\N`', rewrite: 'Write `[^\\n]`.' },
  { opening: /^\\R/, name: '`\\R`', rewrite: 'Write `(?:\\r\\n|\\n|\\r)`.' },
  { opening: /^\\e/, name: '`\\e`', rewrite: 'Write `\\x1b`.' },
  { opening: /^\\c/, name: '`\\c`', rewrite: 'Write the code of the character: `\\x01` for `\\cA`.' },
  {
    opening: /^\{[\d,]+\}$/,
    name: 'more than 1,000 repetitions',
    rewrite: 'Write `+` or `*`, or a smaller number. Numbers of nested repetitions multiply.',
  },
];

/**
 * Names the unsupported construct in the pattern; undefined if `found`, RE2's own message, reports a plain mistake.
 */
function explainUnsupportedConstruct(pattern: string, found: string): string | undefined {
  const token = /: `([^]*)`$/.exec(found)?.[1];
  if (token === undefined) return undefined;
  // RE2 quotes only the start of some constructs, `(?P` for `(?P=name)`, so the pattern itself is checked.
  const texts = [token];
  if (!token.startsWith('{'))
    for (let at = pattern.indexOf(token); at >= 0; at = pattern.indexOf(token, at + 1))
      texts.push(pattern.slice(at));
  const construct = constructs.find(({ opening }) => texts.some((text) => opening.test(text)));
  return construct && inWords(construct);
}

/**
 * RE2 reads `\10` as an octal code, other engines as a backreference if the pattern has ten groups. The meaning would
 * change silently, so the pattern is rejected.
 */
function explainLongReference(pattern: string, groups: number): string | undefined {
  if (groups < 10 || pattern.includes('\\Q')) return undefined;
  for (const [, digits] of pattern.matchAll(/\\(?:([1-9]\d)|[^])/g))
    if (digits !== undefined && Number(digits) <= groups)
      return explainUnsupportedConstruct('', `: \`\\${digits}\``);
  return undefined;
}

const inWords = ({ name, rewrite }: Construct): string =>
  `it uses ${name}, which RE2 does not support. ${rewrite}`;
