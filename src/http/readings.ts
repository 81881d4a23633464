/**
 * All readings of the ledger for requests that may be large. Each needs only a ledger and its input, so it
 * runs in a thread or here.
 */
import type { CallQuery, Page, SessionQuery, SessionSummary } from '../ledger/call-query.ts';
import type { ConfirmationQuery } from '../ledger/confirmation-query.ts';
import { clampPageLimit } from '../ledger/page-cursor.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import { toConfirmationView } from '../runtime/host/confirmation-view.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { toUnresolvedCall } from '../runtime/host/unresolved-call.ts';
import type { CallDetail, CallFacets, CallPage } from './api/call.ts';
import type { ConfirmationPage, GrantList, GrantListQuery, UnresolvedPage } from './api/confirmation.ts';
import type { ContractsVersions, RuleHits, RuleHitsQuery } from './api/contract.ts';
import type { AuditPage, AuditQuery, FeedPage } from './api/feed.ts';
import type { HandoffList, HandoffListQuery } from './api/handoff.ts';
import type { HeadPage } from './api/job.ts';
import type { SessionComparison, Timeline } from './api/session.ts';
import type { Stats } from './api/stats.ts';
import type { BoundedReads, CallRef, LargeCall } from './bounded-reads.ts';
import { countFacets } from './count-facets.ts';
import type { LedgerCounts } from './count-ledger.ts';
import { countLedger } from './count-ledger.ts';
import { countHits, readVersions } from './read-versions.ts';
import { readCallDetail } from './read-call-detail.ts';
import type { FeedSlice } from './read-feed.ts';
import { readAudit, readFeedPage } from './read-feed.ts';
import { readComparison } from './read-comparison.ts';
import type { ForkPlan } from './read-fork.ts';
import { readForkPlan } from './read-fork.ts';
import { readGrants } from './read-grants.ts';
import { readHandoffs } from './read-handoffs.ts';
import { readHeads } from './read-heads.ts';
import { readQuestion } from './read-question.ts';
import type { AskedSpan } from './read-stats.ts';
import { readStats, spanOf } from './read-stats.ts';
import { readTimeline } from './read-timeline.ts';
import type { SearchedPage } from './search-in-steps.ts';
import { searchInSteps } from './search-in-steps.ts';
import type { ToolNumbers } from './tool-numbers.ts';
import { readToolNumbers } from './tool-numbers.ts';

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
  calls: (reads, query) => searchInSteps(reads, query, (step) => reads.ledger.queries.findCalls(step)),
  facets: (reads, query) => countFacets(reads, query),
  call: (reads, { url, traceUrl, ...ref }) => readCallDetail(reads, ref, { url, traceUrl }),
  sessions: (reads, query) => searchInSteps(reads, query, (step) => reads.ledger.queries.findSessions(step)),
  timeline: (reads, { sessionId, ...page }) => readTimeline(reads, sessionId, page),
  comparison: (reads, { a, b }) => readComparison(reads, a, b),
  fork: (reads, ref) => readForkPlan(reads, ref),
  events: (reads, query) => readFeedPage(reads, query),
  audit: (reads, query) => readAudit(reads, query),
  confirmations: (reads, query) =>
    readEach(
      reads,
      query,
      async (page) => reads.ledger.queries.findConfirmations({ ...query, ...page }),
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
      async (page) => reads.ledger.queries.findCalls({ ...query, ...page, unresolved: true }),
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
