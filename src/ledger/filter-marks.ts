/**
 * Marks for the filters of a search, besides the words of a call. The usual value of a filter has no mark: it would be in
 * nearly every call, and `callMatcher` checks it.
 */
import type { CallQuery, CallSummary } from './call-query.ts';
import { outcomesOf } from './call-query.ts';
import type { SearchTerm } from './call-search.ts';
import { scopeMark } from './call-words.ts';

const usualOutcome = 'ToolExecutionResult';
const usualStatus = 'settled';

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

const unresolvedMark = 'r:';
