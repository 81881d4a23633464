/**
 * The ledger: the interface of a store. `reads.ts` composes the rest from it, for every store alike.
 *
 * 1. An exception from any method means that the store could not be reached or could not write, and that it stored
 *    nothing. An expected result is a value: another process was first, the key is taken, the budget is spent.
 * 2. The entries are authoritative. A store may have rows outside the entries to find a claim, a counter, a call, an unresolved
 *    effect or a state quickly. If such a row was changed or deleted, the entries give the answer, or the append is
 *    refused with `ledger.damaged`. An effect never runs again or exceeds its limit because of it. For this, an entry
 *    that reserves or settles also states the totals of its counters.
 * 3. Read-your-writes: rows show a settled call when its caller gets the outcome.
 */
import type { QuittanceEvent } from '../call/event.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';
import type { ArtifactPiece, NewArtifact } from './artifacts.ts';
import type { CursorChange, Cursor } from './cursors.ts';
import type {
  Page,
  CallQuery,
  CallSummary,
  SessionQuery,
  SessionSummary,
  ConfirmationQuery,
  ConfirmationSummary,
  OpenCall,
  OpenCallQuery,
} from './call-query.ts';
import type { AppendResult, Entry, SessionScope, StoredCall, StoredState } from './journal.ts';
import type { LookUp, ClaimHolder, Counter } from './claims.ts';
import type { Erasure, Removal } from './retention.ts';
import type { EntryQuery, StoredEntry, EntrySize } from './stored-entry.ts';
import type { StoreFinding } from './store-finding.ts';
import type { CallCount, CallCountQuery, RuleDenials, CallTally, TallyQuery } from './call-tally.ts';
import type { Head, HeadQuery } from './chain.ts';
import type { SideRow } from './side-row.ts';

export interface Ledger {
  /** The owner that writes through this handle. Other processes can prove that it is alive while the handle is open. */
  readonly ownerId: string;
  /** Milliseconds since 1970 by the clock that decides expiry and days. */
  readonly now: () => number;
  append(entry: Entry): Promise<AppendResult>;
  /** The events of a call with the version to name in the next append; undefined for an unknown call. */
  readCall(sessionId: string, callId: string, lookUp?: LookUp): Promise<StoredCall | undefined>;
  /** Every event of a session in append order, including those that behaviors emitted: see `isEmittedEvent`. */
  readSession(sessionId: string, scope?: SessionScope): Promise<readonly QuittanceEvent[]>;
  /** Entries in stored form, in order of position. */
  readEntries(query: EntryQuery): Promise<readonly StoredEntry[]>;
  /** Rows of one kind: see `LedgerRows`. */
  query<Name extends RowName>(name: Name, query: RowQuery<Name>): Promise<Page<Row<Name>>>;
  /**
   * Resolves when the call has another version, at once for an unknown call; or when there is an entry after the
   * position. Also resolves when the signal aborts; the store then keeps nothing for the waiting caller.
   */
  whenChanged(awaited: AwaitedChange, signal?: AbortSignal): Promise<void>;
  /** Stores a large output or an attached file, outside the entries. */
  putArtifact(artifact: NewArtifact): Promise<void>;
  /** Some of the bytes of an artifact, with its type and size. Undefined if there is no such artifact. */
  readArtifact(
    sessionId: string,
    artifactId: string,
    range?: { readonly from: number; readonly most: number },
  ): Promise<ArtifactPiece | undefined>;
  /** Compare-and-set: stores or removes a cursor if it still is as expected. False if another reader changed it. */
  setCursor(change: CursorChange): Promise<boolean>;
  /** Records that every call of a gone owner was recovered. */
  forgetOwner(ownerId: string): Promise<void>;
  /**
   * Empties the bodies of entries permanently, with the artifacts and sealed inputs of their calls. For a whole
   * session it also empties the states of its subjects. Appends `body.erased`. Returns the number of entries. Refuses
   * while one of the calls has no outcome.
   */
  erase(erasure: Erasure): Promise<number>;
  /**
   * Removes a session with everything that belongs to it, and records in the ledger's own chain that it existed and how
   * it ended. Refuses while a call of it has no outcome. False if there is no such session, or if its last entry has
   * another hash than `lastHash`.
   */
  dropSession(removal: Removal): Promise<boolean>;
  /**
   * Compares the store's own tables with its entries: indexes, cursors, rows, the file. Changes nothing, and never
   * throws because of its findings. Empty for a store that keeps only entries.
   */
  inspect(signal: AbortSignal): AsyncIterable<StoreFinding>;
  /** Writes what is queued, then ends the owner. No other method may be used afterwards. */
  close(): Promise<void>;
}

export type AwaitedChange =
  | { readonly sessionId: string; readonly callId: string; readonly version: number }
  | { readonly after: number };

/** An opened ledger: the store, and what belongs to the place where it was opened. */
export interface OpenLedger extends Ledger {
  /** The runtimes that work through this handle. Each adds itself when it is created. */
  readonly runtimes: Set<MadeCalls>;
  readonly spill: Spill;
  /** Texts of the servers of this ledger. Absent for a ledger with files, where they are next to it. */
  readonly documents?: Documents | undefined;
  /** The files of the ledger, which no call may touch. Absent for a ledger without files. */
  readonly ownFiles?: readonly OwnFile[];
  /**
   * Reports problems that belong to no request, until the signal aborts. Absent for a ledger that has none of these.
   */
  readonly watchTrouble?: (listener: (trouble: StoreTrouble) => void, signal: AbortSignal) => void;
  /**
   * 32 bytes, or several keys as `formatKeyRing` writes them: the same for every process that may open sealed inputs of this
   * ledger.
   */
  readonly sealKey: Uint8Array;
  /** The currently stored keys, if another process may have rotated them. Absent if they come from the host. */
  readonly readSealKey?: (() => Uint8Array | undefined) | undefined;
  /**
   * Rebuilds from the entries: the rows for queries, claims, counters and unresolved effects. Drops sealed inputs that no
   * open call needs, and leaves artifacts unchanged. Skips entries that cannot be read, and returns a sentence about
   * each of them.
   */
  rebuild(): Promise<readonly string[]>;
}

/** The session in whose chain the ledger records events about itself. Only the ledger appends to it. */
export const ledgerSessionId = 'quittance.ledger';

/** The calls that one runtime is making, by session and call id. */
export interface MadeCalls {
  has(key: string): boolean;
}

/** A store's knowledge about an owner. Absence of proof is `unknown`, never `gone`. */
export type OwnerStatus = 'alive' | 'gone' | 'unknown';

export interface Spill {
  /** Stores an entry that `append` could not store, in space allocated before. False if that fails too. */
  write(entry: Entry): Promise<boolean>;
  /**
   * True if there is space for one more entry; otherwise no body may run. Undefined for a ledger that ends with its process,
   * which needs no spill.
   */
  canWrite(): Promise<boolean | undefined>;
  /** The spilled entries of this owner and of owners that are gone. */
  read(): Promise<readonly Spilled[]>;
  /** Forgets spilled entries once they are appended. False, and nothing is forgotten, if the owner spilled more after the named entry. */
  drop(ownerId: string, lastEntryId?: string): Promise<boolean>;
}

export type Spilled = { readonly ownerId: string; readonly entries: readonly Entry[] };

/**
 * Small texts that belong to the servers of a ledger: their tokens, and the history of tool schemas. Ledgers with a file
 * keep them in files next to it, and have no such port.
 */
export interface Documents {
  /** The text of this name. It is left out if it still has the version that the caller knows. */
  read(name: string, knownVersion?: number): Promise<StoredDocument>;
  /** Compare-and-set: stores the text if the document still has this version. False if another process was first. */
  replace(name: string, version: number, text: string): Promise<boolean>;
}

/** A document that was never stored has version 0 and no text. */
export type StoredDocument = { readonly version: number; readonly text: string | undefined };

/**
 * The thread that writes the ledger has ended unexpectedly, for example out of memory. Nothing is lost: a new thread writes
 * what was not stored.
 */
export type StoppedWriter = {
  readonly type: 'ledger.writer_stopped';
  readonly message: string;
  readonly error: unknown;
};

/** A problem of a store that belongs to no request. */
export type StoreTrouble = StoppedWriter;

/**
 * The kinds of rows that a store answers queries from, besides its entries. They contain only data that can be rebuilt
 * from entries, except cursors and owners. A query without a `limit` returns all rows, but calls, sessions and
 * confirmations come page by page.
 */
export type LedgerRows = {
  /** Calls, newest first. */
  readonly calls: readonly [CallQuery, CallSummary];
  /**
   * Calls without an outcome, oldest first. A page with fewer rows than requested is the last. Later pages may lack calls
   * that were appended after the first page was read, and may still list calls that have ended since.
   */
  readonly open_calls: readonly [OpenCallQuery, OpenCall];
  /** The number of calls of each kind. */
  readonly tallies: readonly [TallyQuery, CallTally];
  /** The number of calls of each kind in each time step. Reads every counted row: the caller bounds the span. */
  readonly counts: readonly [CallCountQuery, CallCount];
  /** The number of calls that each rule denied, in no particular order. */
  readonly denials: readonly [Pick<CallQuery, 'since' | 'until'>, RuleDenials];
  /** Sessions with an event in the given time, newest first. The ledger's own session is found only by its id. */
  readonly sessions: readonly [SessionQuery, SessionSummary];
  /** Confirmations, newest first. */
  readonly confirmations: readonly [ConfirmationQuery, ConfirmationSummary];
  readonly claims: readonly [{ readonly key: string }, ClaimHolder];
  /** The used and the reserved amount of each counter, in the order asked. */
  readonly counters: readonly [{ readonly names: readonly string[] }, Counter];
  /**
   * Calls of the session with this tool and input whose effect may have happened unseen, oldest first. A resolution
   * removes a call from the list unless it says that the effect did happen.
   */
  readonly unsettled: readonly [
    {
      readonly sessionId: string;
      readonly toolName: string;
      readonly inputDigest: string;
      readonly lookUp?: LookUp | undefined;
    },
    string,
  ];
  /** The state of a subject of the session, for example of a workflow. */
  readonly states: readonly [{ readonly sessionId: string; readonly subject: string }, StoredState];
  /** The sealed input of a call. None after it was dropped. */
  readonly sealed: readonly [CallOf, string];
  /** Cursors by name: all, or the one of this name. */
  readonly cursors: readonly [{ readonly name?: string | undefined }, Cursor];
  /**
   * The status of one owner, or the owners that are proven dead and not forgotten. A slow or stopped owner is `alive`. If
   * the store cannot check (no descriptors, no permission, an I/O error), the status is `unknown`, and nothing may be
   * taken over. Cheap: every turn asks.
   */
  readonly owners: readonly [
    { readonly ownerId: string } | { readonly status: 'gone' },
    { readonly ownerId: string; readonly status: OwnerStatus },
  ];
  /** Heads of sessions, one page at a time. The cost of a page does not grow with the number of sessions. */
  readonly heads: readonly [HeadQuery | { readonly sessionId: string }, Head];
  /**
   * Approximate number of bytes of entries, cheap even for large ones: of entries after a position, or of one call as
   * a single row.
   */
  readonly sizes: readonly [SizeQuery, EntrySize];
  /** The position of the newest entry, 0 if there is none, and the number of sessions if asked for. */
  readonly end: readonly [
    { readonly countSessions?: boolean | undefined },
    { readonly position: number; readonly sessions: number | undefined },
  ];
  /** State stored outside entries, to compare with the entries. */
  readonly side_rows: readonly [{ readonly cursor?: string | undefined }, SideRow];
};

export type SizeQuery =
  | { readonly after?: number; readonly sessionId?: string; readonly limit: number }
  | CallOf;

export type RowName = keyof LedgerRows;
export type RowQuery<Name extends RowName> = LedgerRows[Name][0];
export type Row<Name extends RowName> = LedgerRows[Name][1];

/** One function for each kind of rows. */
export type RowReaders = {
  readonly [Name in RowName]: (query: RowQuery<Name>) => Promise<Page<Row<Name>>>;
};

/** The kinds that lists and searches read. */
export type ListedRows = Pick<
  RowReaders,
  'calls' | 'open_calls' | 'tallies' | 'counts' | 'denials' | 'sessions' | 'confirmations'
>;

type CallOf = { readonly sessionId: string; readonly callId: string };
