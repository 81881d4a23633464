/** Does a call match a query? Used by stores without an index and by tails. */
import type { JsonValue } from '../base/json.ts';
import type { CallQuery, CallSummary } from './call-query.ts';
import {
  isEmptySearch,
  matchesConditions,
  meetsTerms,
  parseCallSearch,
  toSearchTerms,
} from './call-search.ts';
import { toCallWords } from './call-words.ts';

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

/** Does a call have the words that a query asks for? `output`: as stored. */
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
