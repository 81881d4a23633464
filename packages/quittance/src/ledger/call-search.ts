/**
 * The search language for calls: words, and conditions on arguments such as `args.amount>100` or
 * `args.to="Ada Byron"`. All must match. The last word may be the beginning of a word, if no call has it as a whole word.
 */
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CallQuery, CallSummary } from './call-query.ts';
import { outcomesOf } from './call-query.ts';
import { limits } from '../call/limits.ts';
import {
  magnitudeMarks,
  scopeMark,
  unresolvedMark,
  usualOutcome,
  usualStatus,
  valueMark,
  wordsOf,
  toCallWords,
} from './call-words.ts';

export type ArgumentCondition = {
  /** Names joined by dots. Indexes of lists are left out. */
  readonly path: string;
  readonly is: '=' | '!=' | '>' | '>=' | '<' | '<=';
  readonly value: string;
};

export type CallSearch = {
  readonly words: readonly string[];
  /** Matches every word that begins with it. */
  readonly beginning: string | undefined;
  readonly conditions: readonly ArgumentCondition[];
};

const conditionPattern = /(?<![^\s])args\.([^\s=<>!"]+)(!=|>=|<=|=|>|<)(?:"([^"]*)"|(\S*))/gu;

export function parseCallSearch(text: string): CallSearch {
  if (text.length > limits.searchChars)
    throw new QuittanceError(
      'config.invalid',
      `A search has at most ${limits.searchChars} characters; this one has ${text.length}. Search for fewer words.`,
    );
  const conditions: ArgumentCondition[] = [];
  const rest = text.replaceAll(
    conditionPattern,
    (_, path: string, is: ArgumentCondition['is'], quoted: string | undefined, bare: string | undefined) => {
      conditions.push({ path: path.replaceAll(/\[\d*\]/g, ''), is, value: quoted ?? bare ?? '' });
      return ' ';
    },
  );
  const words = wordsOf(rest);
  // A word that ends with a space is complete.
  const isOpen = /[\p{L}\p{N}\p{M}]$/u.test(rest);
  return {
    words: isOpen ? words.slice(0, -1) : words,
    beginning: isOpen ? words.at(-1) : undefined,
    conditions,
  };
}

/** True if the search has any condition. */
export const isEmptySearch = ({ words, beginning, conditions }: CallSearch): boolean =>
  words.length === 0 && beginning === undefined && conditions.length === 0;

/**
 * A group of marks or words, one of which a call must have. `start`: it may be the beginning of a word. `either`: it is a
 * whole word if any call has that word, and the beginning of a word otherwise. A frequent word is then found at once.
 */
export type SearchTerm = { readonly anyOf: readonly string[]; readonly as: 'whole' | 'start' | 'either' };

/** Resolves terms that may be either. `has`: true if any call has this word. */
export async function settleTerms(
  terms: readonly SearchTerm[],
  has: (word: string) => Promise<boolean>,
): Promise<readonly SearchTerm[]> {
  return Promise.all(
    terms.map(async (term) =>
      term.as === 'either' ? { ...term, as: (await has(term.anyOf[0] ?? '')) ? 'whole' : 'start' } : term,
    ),
  );
}

/**
 * Everything the index of a store must find for a query with `text` or `idStart`. Undefined if nothing can match; empty if
 * an index cannot help.
 */
export function toIndexTerms(query: CallQuery): readonly SearchTerm[] | undefined {
  const search = query.text === undefined ? undefined : parseCallSearch(query.text);
  if ((search !== undefined && isEmptySearch(search)) || outcomesOf(query)?.length === 0) return undefined;
  const terms = search === undefined ? [] : toSearchTerms(search);
  if (terms.some(({ anyOf }) => anyOf.length === 0)) return undefined;
  const exact = (scope: 's' | 't' | 'u', name: string | undefined): readonly SearchTerm[] =>
    name === undefined ? [] : [{ anyOf: [scopeMark(scope, name)], as: 'whole' }];
  return [
    ...terms,
    ...(query.idStart === undefined
      ? []
      : [{ anyOf: [scopeMark('i', query.idStart)], as: 'start' as const }]),
    ...exact('s', query.sessionId),
    ...exact('t', query.toolName),
    ...exact('u', query.userId),
  ];
}

/** What the index of a store must find. `!=` cannot be found by an index: see `matchesConditions`. */
export function toSearchTerms({ words, beginning, conditions }: CallSearch): readonly SearchTerm[] {
  return [
    ...words.map((word) => ({ anyOf: [word], as: 'whole' as const })),
    ...(beginning === undefined ? [] : [{ anyOf: [beginning], as: 'either' as const }]),
    ...conditions.flatMap((condition) => {
      const anyOf = marksOf(condition);
      return anyOf === undefined ? [] : [{ anyOf, as: 'whole' as const }];
    }),
  ];
}

function marksOf({ path, is, value }: ArgumentCondition): readonly string[] | undefined {
  switch (is) {
    case '=': {
      const number = numberOf(value);
      return [valueMark(path, value), ...(number === undefined ? [] : [valueMark(path, number)])];
    }
    case '!=':
      return undefined;
    case '>':
    case '>=':
      return numberOf(value) === undefined ? [] : magnitudeMarks(path, numberOf(value) ?? 0, 'greater');
    case '<':
    case '<=':
      return numberOf(value) === undefined ? [] : magnitudeMarks(path, numberOf(value) ?? 0, 'less');
  }
}

/** True if the shown arguments of a call meet all conditions. A list meets one if any of its values does. */
export const matchesConditions = (
  args: JsonObject | undefined,
  conditions: readonly ArgumentCondition[],
): boolean =>
  conditions.every((condition) => {
    const found =
      args !== undefined && Object.hasOwn(args, condition.path) ? args[condition.path] : undefined;
    if (found === undefined) return false;
    const values = Array.isArray(found) ? (found as readonly JsonValue[]) : [found];
    return values.some((value) => meets(value, condition));
  });

function meets(value: JsonValue, { is, value: asked }: ArgumentCondition): boolean {
  const number = numberOf(asked);
  switch (is) {
    case '=':
      return isSame(value, asked);
    case '!=':
      return !isSame(value, asked);
    case '>':
      return typeof value === 'number' && number !== undefined && value > number;
    case '>=':
      return typeof value === 'number' && number !== undefined && value >= number;
    case '<':
      return typeof value === 'number' && number !== undefined && value < number;
    case '<=':
      return typeof value === 'number' && number !== undefined && value <= number;
  }
}

/** Upper and lower case are the same. A number is the same however it is written. */
function isSame(value: JsonValue, asked: string): boolean {
  if (typeof value === 'number') return numberOf(asked) === value;
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).toLowerCase();
  const wanted = asked.toLowerCase();
  return text === wanted || (text.endsWith('…') && wanted.startsWith(text.slice(0, -1)));
}

const numberOf = (text: string): number | undefined =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;

/** True if a set of words meets the terms. Used by stores without an index. A term that may be either counts as a start. */
export const meetsTerms = (words: ReadonlySet<string>, terms: readonly SearchTerm[]): boolean =>
  terms.every(({ anyOf, as }) =>
    anyOf.some(
      (term) => words.has(term) || (as !== 'whole' && [...words].some((word) => word.startsWith(term))),
    ),
  );

/** What the index must find for the filters of a query. */
export function toFilterTerms(query: CallQuery): readonly SearchTerm[] {
  const { mode, status, code, unresolved } = query;
  // A rule that is named for a call denied it.
  const outcomes = outcomesOf(query) ?? (query.ruleId === undefined ? undefined : (['ToolDenied'] as const));
  const whole = (...anyOf: readonly string[]): SearchTerm => ({ anyOf, as: 'whole' });
  return [
    ...(mode === undefined ? [] : [whole(scopeMark('m', mode))]),
    ...(status === undefined || status === usualStatus ? [] : [whole(scopeMark('q', status))]),
    ...(outcomes === undefined || outcomes.includes(usualOutcome)
      ? []
      : [whole(...outcomes.map((outcome) => scopeMark('o', outcome)))]),
    ...(code === undefined ? [] : [whole(scopeMark('c', code))]),
    ...(unresolved === true ? [whole(unresolvedMark)] : []),
  ];
}

/** Compares calls with queries. Used by stores without an index and by tails. */

/** Checks all fields of the query except the words of `text`: see `matchesText`. Reads the query once, for many calls. */
export function callMatcher(query: CallQuery): (call: CallSummary) => boolean {
  const conditions = query.text === undefined ? [] : parseCallSearch(query.text).conditions;
  return (call) =>
    isAsked(query.sessionId, call.sessionId) &&
    (query.idStart === undefined || call.callId.startsWith(query.idStart)) &&
    isAsked(query.toolName, call.toolName) &&
    isAsked(query.mode, call.mode) &&
    isAsked(query.status, call.status) &&
    hasOutcome(query.outcome, call.outcome) &&
    isAsked(query.code, call.code) &&
    isAsked(query.userId, call.userId) &&
    isAsked(query.ruleId, call.ruleId) &&
    isAsked(query.unresolved, call.unresolved) &&
    (query.since === undefined || call.requestedAt >= query.since) &&
    (query.until === undefined || call.requestedAt < query.until) &&
    matchesConditions(call.args, conditions);
}

/** True if a call has the words of a query. `output`: as stored. */
export const matchesText = (
  call: CallSummary,
  output: JsonValue | undefined,
  { text }: CallQuery,
): boolean => {
  if (text === undefined) return true;
  const search = parseCallSearch(text);
  return !isEmptySearch(search) && meetsTerms(toCallWords(call, output), toSearchTerms(search));
};

const isAsked = <Value>(asked: Value | undefined, found: Value | undefined): boolean =>
  asked === undefined || asked === found;

const hasOutcome = (asked: CallQuery['outcome'], found: CallSummary['outcome']): boolean =>
  typeof asked === 'object' ? found !== undefined && asked.includes(found) : isAsked(asked, found);

/** Ignores the case of the letters A to Z. */
export const hasText = (text: string | undefined, places: readonly (string | undefined)[]): boolean =>
  text === undefined || places.some((place) => place !== undefined && lower(place).includes(lower(text)));

const lower = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
