/**
 * Lists for people and for recovery. Read-your-writes: a settled call is visible here when its caller gets the
 * outcome.
 */
import type { Awaitable } from '../base/json.ts';
import type { CallCount, CallCountQuery, RuleDenials } from './call-count.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from './call-query.ts';
import type { CallTally, TallyName, TallyQuery } from './call-tally.ts';
import type { ConfirmationQuery, ConfirmationSummary } from './confirmation-query.ts';

export interface Queries {
  /**
   * Calls without an outcome, oldest first: all of them, or a page after the place of an earlier row. A page with
   * fewer rows than requested is the last. Later pages may lack calls that were appended after the first page was
   * read, and may still list calls that have ended since.
   */
  findOpenCalls(query?: OpenCallQuery): Awaitable<readonly OpenCall[]>;
  /** Calls, newest first, one page at a time. */
  findCalls(query: CallQuery): Awaitable<Page<CallSummary>>;
  /** The number of calls of each kind. */
  tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Awaitable<readonly CallTally<Name>[]>;
  /** The number of calls of each kind in each time step. Reads every counted row: the caller bounds the span. */
  countCalls(query: CallCountQuery): Awaitable<readonly CallCount[]>;
  /** The number of calls that each rule denied, in no particular order. */
  countDenials(span: Pick<CallQuery, 'since' | 'until'>): Awaitable<readonly RuleDenials[]>;
  /** Sessions with an event in the given time, newest first. The ledger's own session is found only by its id. */
  findSessions(query: SessionQuery): Awaitable<Page<SessionSummary>>;
  /** Confirmations, newest first, one page at a time. */
  findConfirmations(query: ConfirmationQuery): Awaitable<Page<ConfirmationSummary>>;
  /** The confirmation with this id, pending or decided. */
  findConfirmation(confirmationId: string): Awaitable<ConfirmationSummary | undefined>;
}

/** A call without an outcome, and its last owner. */
export type OpenCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
  /** Pass it to continue after this row. Only this store understands it. */
  readonly cursor: string;
  /** As in the list; a store that would have to read the call leaves them out. */
  readonly status?: CallSummary['status'];
  readonly mode?: CallSummary['mode'];
};
export type OpenCallQuery = { readonly after?: string; readonly limit?: number };
