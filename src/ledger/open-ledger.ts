/** A ledger in use: what the runtime appends to, and what those who read, recover and verify it need. */
import type { Awaitable } from '../base/json.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from './call-query.ts';
import type { Entry, Ledger } from './ledger.ts';

export interface OpenLedger extends Ledger {
  /** Who writes through this handle. Its life can be proven for as long as the handle is open. */
  readonly ownerId: string;
  /** Whether the owner still lives. True for one that is slow or stopped, false for one that is gone. */
  isAlive(ownerId: string): Awaitable<boolean>;
  /** Calls without an outcome, oldest first. */
  findOpenCalls(): Awaitable<readonly OpenCall[]>;
  /** Calls, newest first, a page at a time. Whoever was told of an outcome finds it here. */
  queryCalls(query: CallQuery): Awaitable<Page<CallSummary>>;
  querySessions(query: SessionQuery): Awaitable<Page<SessionSummary>>;
  /** Entries as they are written, in the order of their positions. */
  readEntries(query: EntryQuery): Awaitable<readonly StoredEntry[]>;
  /** Resolves when there is an entry after this position. */
  whenAppended(after: number): Promise<void>;
  /**
   * Keeps an entry that `append` could not take, in a place of its owner's that was made ready before. False where
   * that is not possible either. Whoever cannot spill may not promise anything: `canSpill` says so beforehand.
   */
  spill(entry: Entry): Awaitable<boolean>;
  canSpill(): Awaitable<boolean>;
  /** What owners that are gone, and this one, have spilled. */
  readSpills(): Awaitable<readonly Spilled[]>;
  /** Forgets what was spilled, once it is appended. */
  dropSpill(ownerId: string): Awaitable<void>;
  close(): Promise<void>;
}

/** A call nobody has ended yet, and who was at it last. */
export type OpenCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
};

export type Spilled = { readonly ownerId: string; readonly entries: readonly Entry[] };

/** An entry as it is written: the chained text, and beside it what may be erased without breaking the chain. */
export type StoredEntry = {
  /** Where it stands in this store. Another store gives another one. */
  readonly position: number;
  readonly sessionId: string;
  /** From 1, without a gap, within the session. */
  readonly sequence: number;
  readonly text: string;
  /** Undefined once erased. */
  readonly bodies: string | undefined;
  readonly salt: string | undefined;
  readonly hash: string;
};

export type EntryQuery = {
  readonly after?: number;
  readonly sessionId?: string;
  readonly limit: number;
};
