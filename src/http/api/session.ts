/** Sessions: lists, and one session as a timeline. */
import type { CallSummary, Page, SessionSummary } from '../../ledger/call-query.ts';
import type { RelatedCall } from './call.ts';
import type { PageQuery, SpanQuery } from './page.ts';
import type { Integer, SearchText, Timestamp } from './scalar.ts';

/** The query of `GET /v1/sessions`. */
export type SessionListQuery = PageQuery & SpanQuery & { readonly search?: SearchText };
/** `GET /v1/sessions`: newest first. */
export type SessionPage = Page<SessionSummary>;

/** `GET /v1/sessions/{sessionId}`. */
export type SessionDetail = {
  readonly session: SessionSummary;
  /** The head of its chain. */
  readonly head: { readonly sequence: Integer; readonly hash: string } | undefined;
};

/** The query of `GET /v1/sessions/{sessionId}/timeline`. */
export type TimelineQuery = {
  /** @minimum 1 @maximum 500 */
  readonly limit?: Integer;
  /** The `next` of the previous page. */
  readonly cursor?: string;
};
/** `GET /v1/sessions/{sessionId}/timeline`: a page of calls as bars in time, newest first. */
export type Timeline = {
  readonly sessionId: string;
  readonly rows: readonly TimelineCall[];
  readonly next: string | undefined;
  /** The largest number of calls of this page that run at the same time. */
  readonly lanes: Integer;
};
export type TimelineCall = {
  readonly call: CallSummary;
  /** From 0. Calls that overlap in time have different lanes. */
  readonly lane: Integer;
  /** In order, without gaps. */
  readonly spans: readonly TimelineSpan[];
  readonly related: readonly RelatedCall[];
};
/** `deciding`: in the gates; `held`: awaiting approval; `waiting`: no process works on it; `running`: the tool runs. */
export type TimelineSpan = {
  readonly kind: 'deciding' | 'held' | 'waiting' | 'running';
  readonly attempt: Integer;
  readonly from: Timestamp;
  /** Missing until the span ends. */
  readonly to: Timestamp | undefined;
};

/** The body of `POST /v1/sessions/{sessionId}/erase` and `/drop`: why it is removed. Recorded for ever. */
export type NewRemoval = {
  /** @minLength 1 @maxLength 1000 */
  readonly reason: string;
};
/** The answer to a removal, with the number of entries that were emptied or dropped. */
export type Removed = { readonly sessionId: string; readonly entries: Integer };
