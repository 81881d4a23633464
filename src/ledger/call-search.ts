/**
 * The search language for calls: words, and conditions on arguments such as `args.amount>100` or
 * `args.to="Ada Byron"`. All must match. The last word may be the beginning of a
 * word, if no call has it as a whole word.
 */
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import type { CallQuery } from './call-query.ts';
import { outcomesOf } from './call-query.ts';
import { magnitudeMarks, scopeMark, valueMark } from './call-words.ts';
import { wordsOf } from './words-of.ts';

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

/** Does the search ask for anything? */
export const isEmptySearch = ({ words, beginning, conditions }: CallSearch): boolean =>
  words.length === 0 && beginning === undefined && conditions.length === 0;

/**
 * A group of marks or words, one of which a call must have. `start`: it may be the beginning of a word. `either`: it is a
 * whole word if any call has that word, and the beginning of a word otherwise. A frequent word is then found at once.
 */
export type SearchTerm = { readonly anyOf: readonly string[]; readonly as: 'whole' | 'start' | 'either' };

/** Decides about terms that may be either. `has`: does any call have this word? */
export async function settleTerms(
  terms: readonly SearchTerm[],
  has: (word: string) => Awaitable<boolean>,
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

/** Do the shown arguments of a call meet all conditions? A list meets one if any of its values does. */
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

/** Does a set of words meet the terms? Used by stores without an index. A term that may be either is taken as a start. */
export const meetsTerms = (words: ReadonlySet<string>, terms: readonly SearchTerm[]): boolean =>
  terms.every(({ anyOf, as }) =>
    anyOf.some(
      (term) => words.has(term) || (as !== 'whole' && [...words].some((word) => word.startsWith(term))),
    ),
  );
