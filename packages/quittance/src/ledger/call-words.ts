/**
 * The words by which a store finds a call: words of its ids, its message, its arguments and its output. Marks stand for the
 * values of arguments. All come from stored forms, so nothing hidden is found. Their number is bounded.
 *
 * A mark begins with a character that no word has: `=` for a value, `~` for the magnitude of a number. `i:`, `s:`, `t:` and
 * `u:` stand for call id, session, tool and user. Marks may find too much, so the store also checks `callMatcher`.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { CallSummary } from './call-query.ts';

const mostWords = 60;
const mostOutputChars = 2_000;

export type WordedCall = Pick<
  CallSummary,
  'callId' | 'sessionId' | 'toolName' | 'userId' | 'code' | 'message' | 'args'
>;

export function toCallWords(call: WordedCall, output: JsonValue | undefined): ReadonlySet<string> {
  const words = new Set<string>();
  for (const text of [call.callId, call.sessionId, call.toolName, call.userId, call.code, call.message])
    if (text !== undefined) for (const word of wordsOf(text)) words.add(word);
  words.add(scopeMark('i', call.callId));
  words.add(scopeMark('s', call.sessionId));
  words.add(scopeMark('t', call.toolName));
  if (call.userId !== undefined) words.add(scopeMark('u', call.userId));
  if (call.args !== undefined) addArguments(call.args, words);
  if (output !== undefined) addOutput(output, words);
  return words;
}

function addArguments(args: JsonObject, words: Set<string>): void {
  let most = words.size + mostWords;
  for (const [path, values] of Object.entries(args))
    for (const value of Array.isArray(values) ? (values as readonly JsonValue[]) : [values]) {
      if (value === redacted) continue;
      const mark = valueMark(path, value);
      const magnitude = typeof value === 'number' ? magnitudeMark(path, value) : mark;
      if (!words.has(mark)) most++;
      if (!words.has(magnitude)) most++;
      words.add(mark).add(magnitude);
      addWords(textOf(value), words, most);
    }
}

function addOutput(output: JsonValue, words: Set<string>): void {
  const most = words.size + mostWords;
  let left = mostOutputChars;
  const rest: JsonValue[] = [output];
  for (let next = rest.pop(); next !== undefined && left > 0 && words.size < most; next = rest.pop()) {
    if (Array.isArray(next)) rest.push(...next.slice(0, mostWords).reverse());
    else if (isJsonObject(next)) rest.push(...Object.values(next).slice(0, mostWords).reverse());
    else {
      const text = textOf(next);
      addWords(text.slice(0, left), words, most);
      left -= text.length + 1;
    }
  }
}

function addWords(text: string, words: Set<string>, most: number): void {
  for (const word of wordsOf(text.replaceAll(redacted, ' '))) {
    if (words.size >= most) return;
    words.add(word);
  }
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Letters that separate marks or have a meaning in the queries of a store become `_`. */
function plain(text: string): string {
  const short = text.toLowerCase().slice(0, longestMark);
  return hasNothingToReplace.test(short)
    ? short
    : short.toWellFormed().replaceAll(/[\s"'\\\p{Cc}\uFFFD]/gu, '_');
}

/** Most texts: visible ASCII characters except `"`, `'` and `\`. */
const hasNothingToReplace = /^[!#-&(-[\]-~]*$/;
const longestMark = 100;

/** The others stand for mode, status, outcome and code. Stores may add them for filters. */
export type MarkScope = 'i' | 's' | 't' | 'u' | 'm' | 'q' | 'o' | 'c';

export const scopeMark = (scope: MarkScope, name: string): string => `${scope}:${plain(name)}`;

export const valueMark = (path: string, value: JsonValue): string =>
  `=${plain(path)}=${plain(textOf(value))}`;

const largest = 50;
const smallest = -10;

/** The power of two below a number, clamped. */
const powerOf = (value: number): number =>
  Math.max(smallest, Math.min(largest, Math.floor(Math.log2(Math.abs(value)))));

export const magnitudeMark = (path: string, value: number): string =>
  markOf(path, value < 0 ? 'n' : value > 0 ? 'p' : 'z', value === 0 ? 0 : powerOf(value));

const markOf = (path: string, sign: 'n' | 'z' | 'p', power: number): string =>
  `~${plain(path)}=${sign}${power}`;

/** The marks of all numbers that may be greater (or less) than a number. */
export function magnitudeMarks(path: string, from: number, way: 'greater' | 'less'): readonly string[] {
  // "Less than x" is "greater than −x" with the signs exchanged.
  const bound = way === 'greater' ? from : -from;
  const [above, below] = way === 'greater' ? (['p', 'n'] as const) : (['n', 'p'] as const);
  const marks: string[] = [];
  for (let power = bound > 0 ? powerOf(bound) : smallest; power <= largest; power++)
    marks.push(markOf(path, above, power));
  if (bound > 0) return marks;
  marks.push(markOf(path, 'z', 0));
  if (bound < 0)
    for (let power = powerOf(bound); power >= smallest; power--) marks.push(markOf(path, below, power));
  return marks;
}

export const usualOutcome = 'ToolExecutionResult';
export const usualStatus = 'settled';

export function toFilterMarks(
  call: Pick<CallSummary, 'status' | 'outcome' | 'code' | 'unresolved'> & { readonly mode: string },
): readonly string[] {
  const { mode, status, outcome, code, unresolved } = call;
  return [
    scopeMark('m', mode),
    ...(status === usualStatus ? [] : [scopeMark('q', status)]),
    ...(outcome === undefined || outcome === usualOutcome ? [] : [scopeMark('o', outcome)]),
    ...(code === undefined ? [] : [scopeMark('c', code)]),
    ...(unresolved ? [unresolvedMark] : []),
  ];
}

export const unresolvedMark = 'r:';

const longestWord = 40;
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}\p{M}])+/gu;
/** Most texts need no Unicode tables. */
const plainPattern = /[a-z0-9]+/g;
const isPlain = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * The words of a text in their order: runs of letters and digits, in lower case. Scripts that are written without spaces
 * give one word per character.
 */
export function wordsOf(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const found = lower.match(isPlain(lower) ? plainPattern : wordPattern) ?? [];
  return found.map((word) => (word.length > longestWord ? cutWord(word) : word));
}

/** Never splits a character. */
const cutWord = (word: string): string => word.slice(0, longestWord).replace(/[\uD800-\uDBFF]$/, '');
