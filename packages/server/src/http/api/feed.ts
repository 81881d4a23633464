/** The ledger as it grows: entries and audit records in commit order. */
import type { ToolAuditRecord } from 'quittance/internal/call/audit';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import type { Integer } from './scalar.ts';

/** The query of `GET /v1/events`. */
export type FeedQuery = {
  /**
   * A position, or `now`. The default is 0.
   * @pattern ^(now|[0-9]{1,15})$
   */
  readonly after?: string;
  readonly sessionId?: string;
  readonly callId?: string;
  /** An event type, or a prefix that ends in a dot. */
  readonly type?: string;
  /** @minimum 1 @maximum limits.pageRows */
  readonly limit?: Integer;
};

/**
 * One commit. `GET /v1/events` sends each as a message `event: entry` with `id: <position>`; with
 * `Accept: application/json` it answers with a page of them. Events are redacted.
 */
export type FeedEntry = {
  /** The position in this ledger. Resume after it with `Last-Event-ID` or `?after=`. */
  readonly position: Integer;
  /** The position of the previous message in this stream. If you did not see it, messages were lost. */
  readonly previous: Integer;
  readonly sessionId: string;
  /** How many behaviors led to this entry, one caused by the other. */
  readonly depth: Integer;
  readonly events: readonly ReadEvent[];
};

/**
 * `event: position`: where to resume. It is the first message of a stream from `now`, and is sent from time to time
 * while a filter matches nothing.
 */
export type FeedPosition = { readonly position: Integer; readonly previous: Integer };

/** An entry that is too large to send: `event: large` in a stream. `quittance show` shows it. */
export type LargeEntry = {
  readonly position: Integer;
  readonly previous?: Integer;
  readonly sessionId: string;
  readonly bytes: Integer;
};

export type FeedPage = {
  readonly entries: readonly FeedEntry[];
  /** Pass it as `after` to read the next page. */
  readonly position: Integer;
  /** Are there more entries now? */
  readonly more: boolean;
  /** Entries left out because they are too large. */
  readonly large?: readonly LargeEntry[];
};

/** The query of `GET /v1/audit`. */
export type AuditQuery = {
  /** @minimum 0 */
  readonly after?: Integer;
  readonly sessionId?: string;
  readonly callId?: string;
  readonly kind?: ToolAuditRecord['outcome']['kind'];
  /** @minimum 1 @maximum limits.pageRows */
  readonly limit?: Integer;
};
/** `GET /v1/audit`: records in commit order. */
export type AuditPage = {
  readonly records: readonly PlacedAuditRecord[];
  readonly position: Integer;
  readonly more: boolean;
  /** Entries and calls whose records are left out because they are too large. */
  readonly large?: readonly LargeEntry[];
};
/** An audit record and its position in the ledger. */
export type PlacedAuditRecord = ToolAuditRecord & { readonly position: Integer };
