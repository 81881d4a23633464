/**
 * All readings of the ledger for requests that may be large. Each needs only a ledger and its input, so it
 * runs in a thread or here.
 */
import type {
  CallQuery,
  Page,
  SessionQuery,
  SessionSummary,
  CallSummary,
  ConfirmationQuery,
} from 'quittance/internal/ledger/call-query';
import { clampPageLimit, parseCursor } from 'quittance/internal/ledger/call-query';
import type { BudgetRule } from 'quittance/internal/runtime/budget';
import type { ConfirmationView, GrantView } from 'quittance/internal/runtime/views';
import { toConfirmationView, toUnresolvedCall } from 'quittance/internal/runtime/views';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import type { CallDetail, CallFacets, CallPage, RelatedCall } from './api/call.ts';
import type { ConfirmationPage, GrantList, GrantListQuery, UnresolvedPage } from './api/confirmation.ts';
import type {
  ContractsVersions,
  RuleHits,
  RuleHitsQuery,
  ContractsVersion,
  RuleHit,
} from './api/contract.ts';
import type { AuditPage, AuditQuery, FeedPage } from './api/feed.ts';
import type { HandoffList, HandoffListQuery } from './api/handoff.ts';
import type { HeadPage } from './api/job.ts';
import type { SessionComparison, Timeline, TimelineCall, TimelineSpan } from './api/session.ts';
import type { Stats } from './api/stats.ts';
import type { BoundedReads, CallRef, LargeCall } from './bounded-reads.ts';
import { countFacets } from './count-facets.ts';
import type { LedgerCounts } from './count-ledger.ts';
import { countLedger } from './count-ledger.ts';
import { readCallDetail, causeIn, relatedTo } from './read-call-detail.ts';
import type { FeedSlice } from './read-feed.ts';
import { readAudit, readFeedPage } from './read-feed.ts';
import { readComparison } from './read-comparison.ts';
import type { ForkPlan } from './read-fork.ts';
import { readForkPlan } from './read-fork.ts';
import type { AskedSpan } from './read-stats.ts';
import { readStats, spanOf } from './read-stats.ts';
import type { ToolNumbers } from './tool-numbers.ts';
import { readToolNumbers } from './tool-numbers.ts';
import { listGrants } from 'quittance/internal/runtime/grants';
import { dueAt, isHandoff } from 'quittance/internal/call/call';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { HandoffView } from 'quittance/internal/runtime/claim-handoff';
import { toHandoffView } from 'quittance/internal/runtime/claim-handoff';
import { HttpRefusal } from './problem.ts';
import { QuittanceError } from 'quittance/internal/base/error';
import type { ConfirmationDecided, QuittanceEvent } from 'quittance/internal/call/event';
import type { Call } from 'quittance/internal/call/call';
import { readStored } from 'quittance/internal/ledger/feed';
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import { ledgerSessionId } from 'quittance/internal/ledger/ledger';
import type { Awaitable } from 'quittance/internal/base/json';
import { SearchPace } from './search-pace.ts';
import {
  findCalls,
  findSessions,
  findConfirmations,
  findHeads,
  countSessions,
  findConfirmation,
} from 'quittance/internal/ledger/reads';
import { readDenials } from 'quittance/internal/ledger/reads';

type Reading<Input, Answer> = (reads: BoundedReads, input: Input) => Promise<Answer>;

export type Readings = {
  readonly calls: Reading<CallQuery & { readonly limit: number }, CallPage>;
  readonly facets: Reading<CallQuery, CallFacets>;
  readonly call: Reading<
    CallRef & { readonly url: string; readonly traceUrl: string | undefined },
    CallDetail
  >;
  readonly sessions: Reading<SessionQuery, SearchedPage<SessionSummary>>;
  readonly timeline: Reading<
    { readonly sessionId: string; readonly limit: number; readonly cursor: string | undefined },
    Timeline
  >;
  readonly comparison: Reading<{ readonly a: string; readonly b: string }, SessionComparison>;
  readonly fork: Reading<CallRef, ForkPlan>;
  readonly events: Reading<FeedSlice, FeedPage>;
  readonly audit: Reading<AuditQuery, AuditPage>;
  readonly confirmations: Reading<ConfirmationQuery, ConfirmationPage>;
  readonly unresolved: Reading<
    {
      readonly query: Pick<CallQuery, 'sessionId' | 'toolName' | 'limit' | 'cursor'>;
      /** Tools with a `reconcile`. */
      readonly askable: readonly string[];
    },
    UnresolvedPage
  >;
  readonly stats: Reading<{ readonly span: AskedSpan; readonly budgets: readonly BudgetRule[] }, Stats>;
  readonly hits: Reading<RuleHitsQuery, RuleHits>;
  readonly versions: Reading<object, ContractsVersions>;
  readonly tools: Reading<{ readonly toolName: string | undefined }, readonly ToolNumbers[]>;
  readonly question: Reading<{ readonly confirmationId: string }, ConfirmationView>;
  readonly grants: Reading<GrantListQuery, GrantList>;
  readonly handoffs: Reading<HandoffListQuery, HandoffList>;
  readonly heads: Reading<{ readonly limit: number; readonly cursor: string | undefined }, HeadPage>;
  readonly counts: Reading<{ readonly common: readonly string[] }, LedgerCounts>;
};

export type ReadingName = keyof Readings;
export type InputOf<Name extends ReadingName> = Parameters<Readings[Name]>[1];
export type AnswerOf<Name extends ReadingName> = Awaited<ReturnType<Readings[Name]>>;

export const readings: Readings = {
  calls: (reads, query) => searchInSteps(reads, query, (step) => findCalls(reads.ledger, step)),
  facets: (reads, query) => countFacets(reads, query),
  call: (reads, { url, traceUrl, ...ref }) => readCallDetail(reads, ref, { url, traceUrl }),
  sessions: (reads, query) => searchInSteps(reads, query, (step) => findSessions(reads.ledger, step)),
  timeline: (reads, { sessionId, ...page }) => readTimeline(reads, sessionId, page),
  comparison: (reads, { a, b }) => readComparison(reads, a, b),
  fork: (reads, ref) => readForkPlan(reads, ref),
  events: (reads, query) => readFeedPage(reads, query),
  audit: (reads, query) => readAudit(reads, query),
  confirmations: (reads, query) =>
    readEach(
      reads,
      query,
      async (page) => findConfirmations(reads.ledger, { ...query, ...page }),
      (stored, { confirmationId }) => {
        const call = foldStored(stored);
        const view = call && toConfirmationView(call);
        // A question that the call has replaced is no longer listed.
        return view?.confirmationId === confirmationId ? view : undefined;
      },
    ),
  unresolved: (reads, { query, askable }) =>
    readEach(
      reads,
      query,
      async (page) => findCalls(reads.ledger, { ...query, ...page, unresolved: true }),
      (stored) => {
        const call = foldStored(stored);
        return call && toUnresolvedCall(call, askable.includes(call.toolName));
      },
    ),
  stats: (reads, { span, budgets }) =>
    readStats(reads, { ...span, ...spanOf(span, reads.ledger.now()) }, budgets),
  hits: (reads, query) => countHits(reads, query),
  versions: async (reads) => ({ rows: await readVersions(reads) }),
  tools: (reads, { toolName }) => readToolNumbers(reads.ledger, toolName),
  question: (reads, input) => readQuestion(reads, input),
  grants: (reads, filters) => readGrants(reads, filters),
  handoffs: (reads, filters) => readHandoffs(reads, filters),
  heads: (reads, page) => readHeads(reads, page),
  counts: ({ ledger }, { common }) => countLedger(ledger, common),
};

const rowsAtOnce = 20;

/** A page whose rows are views of whole calls. It ends early when it is large enough. */
async function readEach<Row extends CallRef, View>(
  reads: BoundedReads,
  { limit, cursor: given }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  query: (page: { readonly limit: number; readonly cursor: string | undefined }) => Promise<Page<Row>>,
  toView: (
    stored: Exclude<Awaited<ReturnType<BoundedReads['call']>>, 'large' | undefined>,
    row: Row,
  ) => View | undefined,
): Promise<Page<View> & { readonly large?: readonly LargeCall[] }> {
  const rows: View[] = [];
  const large: LargeCall[] = [];
  let left = clampPageLimit(limit);
  let cursor = given;
  for (;;) {
    const page = await query({ limit: Math.min(left, rowsAtOnce), cursor });
    for (const row of page.rows) {
      const stored = await reads.call(row);
      if (stored === 'large')
        large.push(await reads.sizeOf({ sessionId: row.sessionId, callId: row.callId }));
      const view = stored === 'large' || stored === undefined ? undefined : toView(stored, row);
      if (view !== undefined) rows.push(view);
    }
    cursor = page.next;
    left -= page.rows.length;
    if (cursor === undefined || left <= 0 || reads.isSpent)
      return { rows, next: cursor, ...(large.length > 0 && { large }) };
    await reads.pause();
  }
}

/** Grants of one session, or of the newest ones. */

const mostSessions = 200;

async function readGrants(reads: BoundedReads, { sessionId, active }: GrantListQuery): Promise<GrantList> {
  const { ledger } = reads;
  const state = active === undefined ? {} : { active };
  if (sessionId !== undefined)
    return { rows: await listGrants({ ledger }, { sessionId, ...state }), capped: false };
  const sessions = await findSessions(ledger, { limit: mostSessions });
  const rows: GrantView[] = [];
  for (const session of sessions.rows) {
    rows.push(...(await listGrants({ ledger }, { sessionId: session.sessionId, ...state })));
    await reads.spend(0);
  }
  return { rows, capped: sessions.next !== undefined };
}

/**
 * Calls that wait for a worker or that a worker runs. This only reads: it leaves out a call whose time is up. The waiting
 * process, the next claim or recovery ends that call.
 */

async function readHandoffs(
  reads: BoundedReads,
  { toolName, limit = 100 }: HandoffListQuery,
): Promise<HandoffList> {
  const { ledger } = reads;
  const rows: HandoffView[] = [];
  const large: LargeCall[] = [];
  for (const { sessionId, callId } of await findRunning(ledger, toolName)) {
    if (rows.length >= limit || reads.isSpent) break;
    const stored = await reads.call({ sessionId, callId });
    if (stored === 'large') {
      large.push(await reads.sizeOf({ sessionId, callId }));
      continue;
    }
    const call = stored && foldStored(stored);
    if (call === undefined || !isHandoff(call) || ledger.now() >= dueAt(call)) continue;
    rows.push(toHandoffView(call, ledger.now()));
  }
  return { rows, ...(large.length > 0 && { large }) };
}

/** The list is not longer than this. */
const mostRunning = 2_000;

/** Running calls without an outcome, oldest first. Held and settled calls are not read. */
async function findRunning(
  ledger: OpenLedger,
  toolName: string | undefined,
): Promise<readonly CallSummary[]> {
  const found: CallSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await findCalls(ledger, { status: 'running', toolName, cursor, limit: 200 });
    found.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined && found.length < mostRunning);
  return found.toReversed();
}

/** The heads of the chains, page by page. */

async function readHeads(
  { ledger }: BoundedReads,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<HeadPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  // One more than requested shows whether there are more.
  const found = await findHeads(ledger, { after, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return {
    rows,
    next: found.length > limit && last !== undefined ? encodeCursor(last.sessionId) : undefined,
    sessions: await countSessions(ledger),
  };
}

const encodeCursor = (sessionId: string): string =>
  Buffer.from(JSON.stringify(sessionId)).toString('base64url');

function decodeCursor(cursor: string): string {
  try {
    const sessionId: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (typeof sessionId === 'string') return sessionId;
  } catch {
    // Reported below.
  }
  throw new HttpRefusal('http.bad_request', 'cursor must be the "next" of the page before.');
}

/** One question to a person in its current state. */

async function readQuestion(
  reads: BoundedReads,
  { confirmationId }: { readonly confirmationId: string },
): Promise<ConfirmationView> {
  const found = await findConfirmation(reads.ledger, confirmationId);
  const stored = found && (await reads.needCall(found));
  const call = stored && foldStored(stored);
  const view = call && toConfirmationView(call);
  if (found === undefined || stored === undefined || view === undefined)
    throw new QuittanceError(
      'confirmation.unknown',
      `There is no confirmation ${JSON.stringify(confirmationId.slice(0, 200))}.`,
      { confirmationId },
    );
  if (view.confirmationId === confirmationId) return view;
  // The call has asked another question since, so this one is shown as it ended.
  const made = stored.events.find(
    (each): each is ConfirmationDecided =>
      each.type === 'confirmation.decided' &&
      'confirmationId' in each &&
      each.confirmationId === confirmationId,
  );
  return {
    ...view,
    confirmationId,
    status: found.status,
    decision: made?.decision,
    by: made?.by,
    votes: [],
    fallen: [],
    missing: [],
  };
}

/** The calls of a session as bars in time, in parallel lanes if they overlap. */

async function readTimeline(
  reads: BoundedReads,
  sessionId: string,
  page: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Timeline> {
  const { ledger } = reads;
  const { rows, next } = await findCalls(ledger, { sessionId, ...page });
  const bars: Omit<TimelineCall, 'lane'>[] = [];
  const callOf = new Map<string, string>();
  const causes = new Map<string, string>();
  for (const row of rows) {
    const stored = reads.isSpent ? 'large' : await reads.call(row);
    if (stored === 'large') {
      // Too large to read: one bar shows the facts from the list.
      bars.push({ call: row, spans: roughSpans(row), related: [] });
      continue;
    }
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined) continue;
    bars.push(toBar(row, call, stored.events));
    for (const { id } of stored.events) callOf.set(id, row.callId);
    const cause = causeIn(stored.events);
    if (cause !== undefined) causes.set(row.callId, cause);
  }
  const causeOf = (callId: string): readonly RelatedCall[] => {
    const from = callOf.get(causes.get(callId) ?? '');
    return from === undefined || from === callId ? [] : [{ how: 'caused_by', sessionId, callId: from }];
  };
  const lanes = laneOut(bars, ledger.now());
  return {
    sessionId,
    rows: bars.map((bar, index) => ({
      ...bar,
      related: [...bar.related, ...causeOf(bar.call.callId)],
      lane: lanes[index] ?? 0,
    })),
    next,
    lanes: Math.max(0, ...lanes) + (lanes.length === 0 ? 0 : 1),
  };
}

const toBar = (
  row: CallSummary,
  call: Call,
  events: readonly Pick<QuittanceEvent, 'type' | 'at'>[],
): Omit<TimelineCall, 'lane'> => ({ call: row, spans: spansOf(events), related: relatedTo(call) });

/** From its request to its end, if it has too many events to read. */
const roughSpans = ({ requestedAt, settledAt, attempts }: CallSummary): readonly TimelineSpan[] => [
  { kind: 'running', attempt: attempts, from: requestedAt, to: settledAt },
];

/** The phases of a call between its events. Events after its end, such as late results, add nothing. */
function spansOf(events: readonly Pick<QuittanceEvent, 'type' | 'at'>[]): readonly TimelineSpan[] {
  const spans: TimelineSpan[] = [];
  let kind: TimelineSpan['kind'] | undefined;
  let from = 0;
  let attempt = 0;
  const turnTo = (next: TimelineSpan['kind'] | undefined, at: number): void => {
    if (kind !== undefined && (at > from || next !== kind))
      spans.push({ kind, attempt, from, to: Math.max(at, from) });
    kind = next;
    from = Math.max(at, from);
  };
  for (const event of events) {
    const { type, at } = event;
    if (type === 'tool.requested') turnTo('deciding', at);
    else if (type === 'tool.held') turnTo('held', at);
    else if (type.startsWith('confirmation.')) turnTo('waiting', at);
    else if (type === 'tool.started') {
      turnTo('running', at);
      attempt++;
    } else if (type === 'tool.responded')
      turnTo('final' in event && event.final === false ? 'waiting' : undefined, at);
  }
  if (kind !== undefined) spans.push({ kind, attempt, from, to: undefined });
  return spans;
}

/** The lowest free lane at the start of each call, oldest call first, for bars in any order. */
function laneOut(bars: readonly Omit<TimelineCall, 'lane'>[], now: number): readonly number[] {
  const lanes: number[] = bars.map(() => 0);
  const busyUntil: number[] = [];
  const order = bars
    .map((bar, index) => ({ index, from: bar.spans[0]?.from ?? 0, to: endOf(bar.spans, now) }))
    .toSorted((one, other) => one.from - other.from || one.index - other.index);
  for (const { index, from, to } of order) {
    let lane = busyUntil.findIndex((until) => until <= from);
    if (lane === -1) lane = busyUntil.length;
    busyUntil[lane] = Math.max(to, from + 1);
    lanes[index] = lane;
  }
  return lanes;
}

const endOf = (spans: readonly TimelineSpan[], now: number): number => spans.at(-1)?.to ?? now;

/** Rules in the ledger: their versions, and which of them matched the newest calls. */

async function readVersions(reads: BoundedReads): Promise<readonly ContractsVersion[]> {
  let versions: ContractsVersion[] = [];
  // That chain also records every dropped session, so it may be long.
  for (let after = 0; ;) {
    const entries = await reads.ledger.readEntries({
      sessionId: ledgerSessionId,
      after,
      limit: entriesAtOnce,
    });
    for (const entry of entries)
      for (const event of readStored(entry).events)
        if (isKnownEvent(event) && event.type === 'contracts.loaded')
          versions.push({
            policyVersion: event.policyVersion,
            loadedAt: event.at,
            documents: event.documents,
          });
    versions = versions.slice(-mostVersions);
    if (entries.length < entriesAtOnce) return versions.reverse();
    after = entries.at(-1)?.position ?? after;
    await reads.pause();
  }
}

const mostVersions = 100;
const entriesAtOnce = 100;

const mostCalls = 1_000;

const callsAtOnce = 100;

/** The calls, read together, until the request has read as much as it may. */
async function* readEachVersion(
  reads: BoundedReads,
  rows: readonly CallRef[],
): AsyncGenerator<CallRef & { readonly stored: Awaited<ReturnType<BoundedReads['call']>> }, void> {
  for (let start = 0; start < rows.length && !reads.isSpent; start += callsAtOnce) {
    const some = rows.slice(start, start + callsAtOnce);
    const read = await reads.calls(some);
    for (const [index, { sessionId, callId }] of some.entries())
      yield { sessionId, callId, stored: read[index] };
  }
}

type CountedRule = { -readonly [Name in keyof RuleHit]: RuleHit[Name] };

/** Counts each call once for each rule. A call that a rule only would have changed counts as observed. */
export async function countHits(reads: BoundedReads, { since, until }: RuleHitsQuery): Promise<RuleHits> {
  const found = new Map<string, CountedRule>();
  const { ledger } = reads;
  const [denials, { rows, next }] = await Promise.all([
    readDenials(ledger, { since, until }),
    findCalls(ledger, { limit: mostCalls, since, until }),
  ]);
  let examined = 0;
  for await (const { sessionId, callId, stored } of readEachVersion(reads, rows)) {
    const seen = new Set<string>();
    examined++;
    for (const event of stored === 'large' || stored === undefined ? [] : stored.events) {
      if (event.type !== 'tool.decided' && event.type !== 'tool.responded') continue;
      if (!('rules' in event)) continue;
      for (const { ruleId, action, observed } of event.rules) {
        // Rules judge again after an approval. Count the call once.
        if (seen.has(ruleId)) continue;
        seen.add(ruleId);
        const hit = found.get(ruleId) ?? {
          ruleId,
          action,
          hits: 0,
          observed: 0,
          lastAt: event.at,
          lastCall: { sessionId, callId },
        };
        found.set(ruleId, hit);
        if (observed === true) hit.observed++;
        else hit.hits++;
      }
    }
  }
  return {
    calls: examined,
    since: rows[examined - 1]?.requestedAt,
    exact: next === undefined && examined === rows.length,
    denials,
    rules: [...found.values()].toSorted(
      (one, other) => other.hits + other.observed - one.hits - one.observed,
    ),
  };
}

/** A page of a list, or the part of it found in a short time, so that a search answers quickly. */

/**
 * After this time a search answers with the rows it has. `next` continues from there. With its last step it takes less than
 * the time after which the queue of readings lets a caller rest.
 */
const longestSearchMs = 30;

type Asked = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

/** `searchedTo`: the time of the last examined row, if the search has not come to its end. */
type SearchedPage<Row> = Page<Row> & { readonly searchedTo: number | undefined };

export async function searchInSteps<Row, Query extends Asked>(
  reads: Pick<BoundedReads, 'pause'>,
  query: Query,
  find: (step: Query & { readonly scan: number }) => Awaitable<Page<Row>>,
  pace: SearchPace = new SearchPace(longestSearchMs),
): Promise<SearchedPage<Row>> {
  const { limit = 50 } = query;
  const rows: Row[] = [];
  let { cursor } = query;
  for (;;) {
    const page = await find({ ...query, limit: limit - rows.length, cursor, scan: pace.begin() });
    rows.push(...page.rows);
    cursor = page.next;
    if (!pace.end() || cursor === undefined || rows.length >= limit) break;
    await reads.pause();
  }
  const searchedTo = cursor !== undefined && rows.length < limit ? parseCursor(cursor)[0] : undefined;
  return { rows, next: cursor, searchedTo };
}
