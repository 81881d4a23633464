/** Sessions: lists, one session as a timeline, forks, and two sessions compared. */
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { CallSummary, SessionSummary } from 'quittance/internal/ledger/call-query';
import type { DifferenceWeight } from 'quittance/internal/replay/difference-weight';
import type { SessionFork } from 'quittance/internal/replay/fork-session';
import type { RelatedCall } from './call.ts';
import type { PageQuery, SpanQuery } from './page.ts';
import type { Integer, ResourceId, SearchText, Timestamp } from './scalar.ts';

/** The query of `GET /v1/sessions`. */
export type SessionListQuery = PageQuery & SpanQuery & { readonly search?: SearchText };
/** `GET /v1/sessions`: newest first. */
export type SessionPage = {
  readonly rows: readonly SessionSummary[];
  /** The cursor of the next page. A short page may have one too: see `searchedTo`. */
  readonly next: string | undefined;
  /** A long search stops here. Request `next` to continue. */
  readonly searchedTo: Timestamp | undefined;
};

/** `GET /v1/sessions/{sessionId}`. */
export type SessionDetail = {
  readonly session: SessionSummary;
  /** The head of its chain. */
  readonly head: { readonly sequence: Integer; readonly hash: string } | undefined;
  /** Missing unless it was forked from another session. */
  readonly fork: SessionFork | undefined;
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

/** The body of `POST /v1/sessions/{sessionId}/forks`. */
export type NewFork = {
  /** The first call that is made again. The calls before it are not. */
  readonly callId: ResourceId;
  /** The id of the new session. Without it, the server makes one. */
  readonly as?: ResourceId;
  /** Continue after a call that ends differently? Without it, the fork stops there. */
  readonly continue?: boolean;
};
/** The answer to a new fork. Its calls are made one after the other, and a held call is awaited. */
export type StartedFork = {
  readonly sessionId: string;
  readonly fork: SessionFork;
  /** Number of calls to make. */
  readonly calls: Integer;
};

/** The query of `GET /v1/sessions/{sessionId}/compare`. */
export type ComparisonQuery = {
  /** The session to compare with. */
  readonly with: ResourceId;
};
/** `GET /v1/sessions/{sessionId}/compare`: the session is `a`, the other one `b`. Ids and times are ignored. */
export type SessionComparison = {
  readonly a: ComparedSession;
  readonly b: ComparedSession;
  /** Which of the two is a fork of the other, and where. The calls before a fork that only one of them has are not compared. */
  readonly fork:
    | { readonly of: 'a' | 'b'; readonly atCallId: string | undefined; readonly position: Integer }
    | undefined;
  readonly identical: boolean;
  readonly same: Integer;
  readonly changed: Integer;
  readonly onlyA: Integer;
  readonly onlyB: Integer;
  /** The calls that differ: other ends and decisions first, then other outputs, then the rest. */
  readonly calls: readonly ComparedCall[];
  /** Number of further calls that differ and are not listed. */
  readonly moreCalls: Integer;
  /** Differences in the final states of workflows. */
  readonly workflows: readonly ComparedValue[];
  /** Principals, models and rules. They do not count as differences. */
  readonly circumstances: readonly ComparedValue[];
  /** Pairs of calls with redacted arguments that could only be compared by their stored form. */
  readonly comparedByKeptForm: Integer;
};
export type ComparedSession = {
  readonly sessionId: string;
  readonly calls: Integer;
  /** The newest calls that were compared. Fewer than `calls` in a large session. */
  readonly compared: Integer;
  /** Number of calls that were left out because they are too large. */
  readonly large: Integer;
};
export type ComparedCall = {
  readonly status: 'changed' | 'only_a' | 'only_b';
  readonly weight: DifferenceWeight;
  readonly toolName: string;
  readonly a: ComparedSide | undefined;
  readonly b: ComparedSide | undefined;
  /** Heaviest first. */
  readonly differences: readonly ComparedValue[];
  readonly moreDifferences: Integer;
};
export type ComparedSide = {
  readonly callId: string;
  readonly outcome: ToolOutcome['type'] | undefined;
  /** The reason code, unless it succeeded. */
  readonly code: string | undefined;
  /** The requested arguments as JSON text, in stored form. Long ones are cut. */
  readonly input: string;
};
export type ComparedValue = {
  /** The field that differs: `arguments`, `decisions`, `outcome`, `output` … */
  readonly field: string;
  /** The path inside the field; `$` for all of it. */
  readonly path: string;
  /** JSON text. Long values are cut. Missing if that side has no value. */
  readonly a: string | undefined;
  readonly b: string | undefined;
};

/** The body of `POST /v1/sessions/{sessionId}/erase` and `/drop`: the reason of the removal, which is recorded. */
export type NewRemoval = {
  /** @minLength 1 @maxLength limits.shortReasonChars */
  readonly reason: string;
};
/** The answer to a removal, with the number of entries that were emptied or dropped. */
export type Removed = { readonly sessionId: string; readonly entries: Integer };
