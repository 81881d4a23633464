/**
 * Marks for the filters of a search, besides the words of a call. The usual value of a filter has no mark: it would be in
 * nearly every call, and `callMatcher` checks it.
 */
import type { CallQuery, CallSummary } from '../../ledger/call-query.ts';
import { outcomesOf } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { scopeMark } from '../../ledger/call-words.ts';

const usualOutcome = 'ToolExecutionResult';
const usualStatus = 'settled';

export function toFilterMarks(
  call: Pick<CallSummary, 'mode' | 'status' | 'outcome' | 'code' | 'unresolved'>,
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
  const outcomes = outcomesOf(query);
  const whole = (...anyOf: readonly string[]): SearchTerm => ({ anyOf, as: 'whole' });
  return [
    ...(mode === undefined ? [] : [whole(scopeMark('m', mode))]),
    ...(status === undefined || status === usualStatus ? [] : [whole(scopeMark('q', status))]),
    ...(outcomes === undefined || outcomes.length === 0 || outcomes.includes(usualOutcome)
      ? []
      : [whole(...outcomes.map((outcome) => scopeMark('o', outcome)))]),
    ...(code === undefined ? [] : [whole(scopeMark('c', code))]),
    ...(unresolved === true ? [whole(unresolvedMark)] : []),
  ];
}

const unresolvedMark = 'r:';
