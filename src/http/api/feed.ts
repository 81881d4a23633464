/** The ledger as it grows: entries in commit order. */
import type { ToolAuditRecord } from '../../call/audit.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';

/**
 * One commit. `GET /v1/events` sends each as a message `event: entry` with `id: <position>`; with
 * `Accept: application/json` a page of them. Its events are in their kept form, as `runtime.events.list` gives them.
 */
export type FeedEntry = {
  /** Where it stands in this ledger. Resume after it with `Last-Event-ID` or `?after=`. */
  readonly position: number;
  /** The position of the message before in this stream: one that is not what was seen last means something was lost. */
  readonly previous: number;
  readonly sessionId: string;
  /** How many behaviours stand between this and something no behaviour caused. */
  readonly depth: number;
  readonly events: readonly ReadEvent[];
};

/**
 * `event: position`, so that a reader resumes from here: the first message of a stream from `now`, and sent now and
 * then where a filter lets nothing through.
 */
export type FeedPosition = { readonly position: number; readonly previous: number };

/** An entry that is too large to be sent: `event: large` in a stream. `quittance show` shows it. */
export type LargeEntry = {
  readonly position: number;
  readonly previous?: number;
  readonly sessionId: string;
  readonly bytes: number;
};

export type FeedPage = {
  readonly entries: readonly FeedEntry[];
  /** Ask for what is after this next. */
  readonly position: number;
  /** Whether there is more now. */
  readonly more: boolean;
  /** Entries left out because they are too large. */
  readonly large?: readonly LargeEntry[];
};

/** `GET /v1/audit`: records in commit order. */
export type AuditPage = {
  readonly records: readonly (ToolAuditRecord & { readonly position: number })[];
  readonly position: number;
  readonly more: boolean;
  /** Entries and calls whose records are left out because they are too large. */
  readonly large?: readonly LargeEntry[];
};
