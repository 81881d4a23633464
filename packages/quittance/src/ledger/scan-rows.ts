/** Answers queries by looking at every call, for a store without tables. */
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import type { Call } from '../call/call.ts';
import { foldCall } from '../call/evolve.ts';
import {
  countCalls,
  countDenials,
  countCall,
  countEvent,
  newSessionTally,
  tallyCalls,
} from './call-tally.ts';
import type {
  CallQuery,
  CallSummary,
  Page,
  SessionQuery,
  SessionSummary,
  PageCursor,
  ConfirmationQuery,
  ConfirmationSummary,
  OpenCall,
  OpenCallQuery,
} from './call-query.ts';
import type { SearchTerm } from './call-search.ts';
import { meetsTerms, toIndexTerms, callMatcher, hasText } from './call-search.ts';
import { toCallWords } from './call-words.ts';
import type { ListedRows } from './ledger.ts';
import { ledgerSessionId } from './ledger.ts';
import { clampPageLimit, parseCursor, toCursor, matchesConfirmation } from './call-query.ts';
import { outputOf, summarizeConfirmations, toCallSummary } from './listed-call.ts';

/** A session with at least one entry. */
export type ScannedSession = {
  readonly sessionId: string;
  /** Of its first entry. */
  readonly position: number;
  readonly events: Iterable<QuittanceEvent>;
  readonly calls: Iterable<ScannedCall>;
};

export type ScannedCall = {
  readonly callId: string;
  /** Of its first entry. */
  readonly position: number;
  readonly isOpen: boolean;
  readonly ownerId: string;
  /** Includes events that behaviors emitted, which say nothing about the call. */
  readonly events: readonly QuittanceEvent[];
};

type Sessions = () => Iterable<ScannedSession>;

export const scanRows = (sessions: Sessions): ListedRows => ({
  calls: async (query) => queryCalls([...sessions()], query),
  open_calls: async (query) => all(findOpenCalls(sessions(), query)),
  tallies: async (query) => all(tallyCalls(summarizeCalls(sessions()), query)),
  counts: async (query) => all(countCalls(summarizeCalls(sessions()), query)),
  denials: async (span) => all(countDenials(summarizeCalls(sessions()), span)),
  sessions: async (query) => querySessions(sessions(), query),
  confirmations: async (query) => queryConfirmations(sessions(), query),
});

const all = <Row>(rows: readonly Row[]): Page<Row> => ({ rows, next: undefined });

const findOpenCalls = (
  sessions: Iterable<ScannedSession>,
  { after = '-1', limit }: OpenCallQuery,
): readonly OpenCall[] =>
  [...sessions]
    .flatMap(({ sessionId, calls }) =>
      [...calls]
        .filter(({ isOpen }) => isOpen)
        .map(({ callId, ownerId, position }) => ({ sessionId, callId, ownerId, position })),
    )
    .sort((left, right) => left.position - right.position)
    .filter(({ position }) => position > Number(after))
    .slice(0, limit)
    .map(({ position, ...call }) => ({ ...call, cursor: String(position) }));

function queryConfirmations(
  sessions: Iterable<ScannedSession>,
  query: ConfirmationQuery,
): Page<ConfirmationSummary> {
  const found: [ConfirmationSummary, PageCursor][] = [];
  for (const { calls } of sessions)
    for (const { events, position } of calls)
      for (const summary of summarizeConfirmations(aboutCall(events)))
        if (matchesConfirmation(summary, query)) found.push([summary, [summary.askedAt, position]]);
  return toPage(found, query);
}

function queryCalls(sessions: readonly ScannedSession[], query: CallQuery): Page<CallSummary> {
  const found: [CallSummary, PageCursor][] = [];
  const matches = callMatcher(query);
  const isSearch = query.text !== undefined || query.idStart !== undefined;
  const terms = isSearch ? settle(toIndexTerms(query), sessions) : [];
  if (terms === undefined) return all<CallSummary>([]);
  for (const { sessionId, calls } of sessions) {
    if (query.sessionId !== undefined && query.sessionId !== sessionId) continue;
    for (const { events, position } of calls) {
      const folded = fold(events);
      if (folded === undefined) continue;
      const summary = toCallSummary(folded);
      if (!matches(summary)) continue;
      if (isSearch && !meetsTerms(toCallWords(summary, outputOf(folded)), terms)) continue;
      found.push([summary, [summary.requestedAt, position]]);
    }
  }
  return toPage(found, query, isSearch ? compareAppended : compare);
}

/** Decides about terms that may be a whole word or a beginning, as stores with an index do. */
function settle(
  terms: readonly SearchTerm[] | undefined,
  sessions: readonly ScannedSession[],
): readonly SearchTerm[] | undefined {
  return terms?.map((term) =>
    term.as === 'either'
      ? { ...term, as: sessions.some((session) => hasWord(session, term.anyOf[0] ?? '')) ? 'whole' : 'start' }
      : term,
  );
}

const hasWord = ({ calls }: ScannedSession, word: string): boolean =>
  [...calls].some(({ events }) => {
    const folded = fold(events);
    return folded !== undefined && toCallWords(toCallSummary(folded), outputOf(folded)).has(word);
  });

function* summarizeCalls(sessions: Iterable<ScannedSession>): Generator<CallSummary, void> {
  for (const { calls } of sessions)
    for (const { events } of calls) {
      const call = fold(events);
      if (call !== undefined) yield toCallSummary(call);
    }
}

function querySessions(sessions: Iterable<ScannedSession>, query: SessionQuery): Page<SessionSummary> {
  const found: [SessionSummary, PageCursor][] = [];
  for (const session of sessions) {
    const { sessionId, position, events } = session;
    if (query.sessionId === undefined ? sessionId === ledgerSessionId : sessionId !== query.sessionId)
      continue;
    const tally = newSessionTally(sessionId);
    for (const { at } of events) countEvent(tally, at);
    for (const summary of summarizeCalls([session])) countCall(tally, summary);
    if (
      (query.since === undefined || tally.lastAt >= query.since) &&
      (query.until === undefined || tally.firstAt < query.until) &&
      hasText(query.text, [sessionId])
    )
      found.push([tally, [tally.firstAt, position]]);
  }
  return toPage(found, query);
}

const fold = (events: readonly QuittanceEvent[]): Call | undefined => foldCall(aboutCall(events));

/** They are stored for the call. Code that folds events skips those of behaviors. */
const aboutCall = (events: readonly QuittanceEvent[]): readonly CallEvent[] => events as readonly CallEvent[];

function toPage<Row>(
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
