/** Answers queries about calls and sessions by scanning all of them. */
import type { Call } from '../../call/call.ts';
import type { CallEvent } from '../../call/event.ts';
import { foldCall } from '../../call/evolve.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { meetsTerms, toIndexTerms } from '../../ledger/call-search.ts';
import { toCallWords } from '../../ledger/call-words.ts';
import { hasText, callMatcher } from '../../ledger/match-call.ts';
import type { PageCursor } from '../../ledger/page-cursor.ts';
import { clampPageLimit, parseCursor, toCursor } from '../../ledger/page-cursor.ts';
import { outputOf, toCallSummary } from '../../ledger/summarize-call.ts';
import { countCall, countEvent, newSessionTally } from '../../ledger/session-tally.ts';
import type { MemoryCall, MemorySession } from './memory-session.ts';
import { allEvents } from './memory-session.ts';

export function queryCalls(stored: Iterable<MemorySession>, query: CallQuery): Page<CallSummary> {
  const sessions = [...stored];
  const found: [CallSummary, PageCursor][] = [];
  const matches = callMatcher(query);
  const isSearch = query.text !== undefined || query.idStart !== undefined;
  const terms = isSearch ? settle(toIndexTerms(query), sessions) : [];
  if (terms === undefined) return { rows: [], next: undefined };
  for (const { sessionId, calls } of sessions) {
    if (query.sessionId !== undefined && query.sessionId !== sessionId) continue;
    for (const call of calls.values()) {
      const folded = fold(call);
      if (folded === undefined) continue;
      const summary = toCallSummary(folded);
      if (!matches(summary)) continue;
      if (isSearch && !meetsTerms(toCallWords(summary, outputOf(folded)), terms)) continue;
      found.push([summary, [summary.requestedAt, call.position]]);
    }
  }
  return toPage(found, query, isSearch ? compareAppended : compare);
}

/** Decides about terms that may be a whole word or a beginning, as stores with an index do. */
function settle(
  terms: readonly SearchTerm[] | undefined,
  sessions: readonly MemorySession[],
): readonly SearchTerm[] | undefined {
  return terms?.map((term) =>
    term.as === 'either'
      ? { ...term, as: sessions.some((session) => hasWord(session, term.anyOf[0] ?? '')) ? 'whole' : 'start' }
      : term,
  );
}

const hasWord = ({ calls }: MemorySession, word: string): boolean =>
  [...calls.values()].some((call) => {
    const folded = fold(call);
    return folded !== undefined && toCallWords(toCallSummary(folded), outputOf(folded)).has(word);
  });

export function* summarizeCalls(sessions: Iterable<MemorySession>): Generator<CallSummary, void> {
  for (const { calls } of sessions)
    for (const call of calls.values()) {
      const summary = summarize(call);
      if (summary !== undefined) yield summary;
    }
}

export function querySessions(sessions: Iterable<MemorySession>, query: SessionQuery): Page<SessionSummary> {
  const found: [SessionSummary, PageCursor][] = [];
  for (const { sessionId, entries: stored, calls } of sessions) {
    const entries = stored.slice();
    const [first] = entries;
    if (first === undefined) continue;
    if (query.sessionId === undefined ? sessionId === ledgerSessionId : sessionId !== query.sessionId)
      continue;
    const tally = newSessionTally(sessionId);
    for (const { events } of entries) for (const { at } of events) countEvent(tally, at);
    for (const call of calls.values()) {
      const summary = summarize(call);
      if (summary !== undefined) countCall(tally, summary);
    }
    if (
      (query.since === undefined || tally.lastAt >= query.since) &&
      (query.until === undefined || tally.firstAt < query.until) &&
      hasText(query.text, [sessionId])
    )
      found.push([tally, [tally.firstAt, first.position]]);
  }
  return toPage(found, query);
}

const fold = (call: MemoryCall): Call | undefined => foldCall(allEvents(call) as readonly CallEvent[]); // stored for the call, so these are call events

const summarize = (stored: MemoryCall): CallSummary | undefined => {
  const call = fold(stored);
  return call && toCallSummary(call);
};

export function toPage<Row>(
  found: [Row, PageCursor][],
  { limit, cursor }: Pick<CallQuery, 'limit' | 'cursor'>,
  order: typeof compare = compare,
): Page<Row> {
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const rows = found
    .sort(([, left], [, right]) => order(right, left))
    .filter(([, place]) => from === undefined || order(place, from) < 0)
    .slice(0, clampPageLimit(limit) + 1);
  const page = rows.slice(0, clampPageLimit(limit));
  const last = page.at(-1);
  return {
    rows: page.map(([row]) => row),
    next: rows.length > page.length && last !== undefined ? toCursor(last[1]) : undefined,
  };
}

const compare = (left: PageCursor, right: PageCursor): number => left[0] - right[0] || left[1] - right[1];

/** Searches are listed in the order of appends, as an index has them. */
const compareAppended = (left: PageCursor, right: PageCursor): number => left[1] - right[1];
