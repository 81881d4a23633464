/** Sessions: listed, and one of them as lanes in time. */
import type { Page, SessionSummary } from '../../ledger/call-query.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import type { RelatedCall } from './call.ts';

/** `GET /v1/sessions`: newest first. */
export type SessionPage = Page<SessionSummary>;

/** `GET /v1/sessions/{sessionId}`. */
export type SessionDetail = {
  readonly session: SessionSummary;
  /** Where its chain stands. */
  readonly head: { readonly sequence: number; readonly hash: string } | undefined;
};

/** `GET /v1/sessions/{sessionId}/timeline`: a page of calls, newest first, as bars in time. */
export type Timeline = {
  readonly sessionId: string;
  readonly rows: readonly TimelineCall[];
  readonly next: string | undefined;
  /** How many calls of this page run beside each other at most. */
  readonly lanes: number;
};
export type TimelineCall = {
  readonly call: CallSummary;
  /** From 0: no two calls that overlap in time share one. */
  readonly lane: number;
  /** In order, without a gap between the first and the last. */
  readonly spans: readonly TimelineSpan[];
  readonly related: readonly RelatedCall[];
};
/** `deciding`: gates; `held`: a person is asked; `waiting`: nobody is at it; `running`: the body is. */
export type TimelineSpan = {
  readonly kind: 'deciding' | 'held' | 'waiting' | 'running';
  readonly attempt: number;
  readonly from: number;
  /** Undefined while it lasts. */
  readonly to: number | undefined;
};
