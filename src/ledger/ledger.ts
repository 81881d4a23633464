/**
 * The ledger: where events are appended. What the runtime, and those who read, recover and verify, need from a
 * store, and no more.
 *
 * 1. An append is all or nothing: its events, its claim, its reservations, its seals.
 * 2. Whatever may legally go wrong with an append is a status, never an exception; an exception means
 *    that the store could not be reached or could not write, and that nothing of the append is kept.
 * 3. Appends about one call are ordered by the call's version: who names an old one is refused.
 * 4. The entries decide. A store may keep rows beside them to find a claim, a counter, a call, an effect in doubt or a
 *    state quickly. Where such a row was changed or deleted, the answer is what the entries say, or the append is
 *    refused with `ledger.damaged`; never one that lets an effect run again or past its limit. For this, an entry that
 *    reserves or settles also states what its counters have come to (`totals`).
 */
import type { Awaitable, JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { DirectIdentity, QuittanceEvent } from '../call/event.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';
import type { BesideRow } from './beside.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from './call-query.ts';
import type { CallTally, TallyName, TallyQuery } from './call-tally.ts';
import type { Head, HeadQuery } from './chain.ts';
import type { ConfirmationQuery, ConfirmationSummary } from './confirmation-query.ts';
import type { StoreFinding } from './store-finding.ts';
import type { EntryQuery, EntrySize, StoredEntry } from './stored-entry.ts';

/**
 * Which events of a session to read: all, or those of entries that are about no call. For the second a store may answer
 * with all: it only spares reading them.
 */
export type SessionScope = 'all' | 'without_call';

export interface Ledger {
  append(entry: Entry): Awaitable<AppendResult>;
  /** The events of one call with the version to name in the next append, or undefined. */
  readCall(sessionId: string, callId: string): Awaitable<StoredCall | undefined>;
  /**
   * About how many bytes `readCall` would read; 0 for a call that is not there. Cheap, however large the call is: a
   * reader that must not stall asks this first.
   */
  measureCall(sessionId: string, callId: string): Awaitable<number>;
  /** Every event of a session, in the order of appending; what behaviours emitted too: see `isEmittedEvent`. */
  readSession(sessionId: string, scope?: SessionScope): Awaitable<readonly QuittanceEvent[]>;
  readClaim(claimKey: string): Awaitable<ClaimHolder | undefined>;
  /** What is used and reserved under each name, in the order asked. */
  readCounters(names: readonly string[]): Awaitable<readonly Counter[]>;
  /**
   * Calls of the session with this tool and input whose effect may have happened unseen, oldest first. A resolution
   * takes a call off the list unless it says that the effect did happen.
   */
  findUnsettledEffects(
    sessionId: string,
    toolName: string,
    inputDigest: string,
  ): Awaitable<readonly string[]>;
  /**
   * Resolves when the call has another version than this one; at once for a call that is not there, and for whoever
   * waits no more: nothing is kept for them then, however long the call stays as it is.
   */
  whenChanged(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void>;
  /** Where a subject of the session stands, e.g. a workflow; undefined where it never moved. */
  readState(sessionId: string, subject: string): Awaitable<StoredState | undefined>;
  readSealed(sessionId: string, callId: string): Awaitable<string | undefined>;
  putArtifact(artifact: NewArtifact): Awaitable<void>;
  readArtifact(sessionId: string, artifactId: string): Awaitable<StoredArtifact | undefined>;
  /** What is known of an artifact without reading it; undefined where there is none. */
  measureArtifact(sessionId: string, artifactId: string): Awaitable<ArtifactFacts | undefined>;
  /** Some of its bytes as they are stored, in `encoding`; fewer at the end. Undefined where there is none. */
  readArtifactBytes(
    sessionId: string,
    artifactId: string,
    from: number,
    most: number,
  ): Awaitable<Uint8Array | undefined>;
  /**
   * Calls without an outcome, oldest first: all of them, or a page after the place of a row of the page before. A page
   * with fewer rows than asked for is the last. What is appended after the first page was read may be missing in the
   * others, and a call that has ended since may still be there.
   */
  findOpenCalls(query?: OpenCallQuery): Awaitable<readonly OpenCall[]>;
  /** Calls, newest first, a page at a time. Whoever was told of an outcome finds it here. */
  queryCalls(query: CallQuery): Awaitable<Page<CallSummary>>;
  /** How many calls there are of each kind. Whoever was told of an outcome finds it counted. */
  tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Awaitable<readonly CallTally<Name>[]>;
  /**
   * Sessions, newest first: those in which something happened in the time asked for. The ledger's own is nobody's
   * conversation: it is found by its id alone.
   */
  querySessions(query: SessionQuery): Awaitable<Page<SessionSummary>>;
  /** Questions to people, newest first, a page at a time. Whoever was told of one finds it here. */
  queryConfirmations(query: ConfirmationQuery): Awaitable<Page<ConfirmationSummary>>;
  /** The question of this id, whether it is decided or not. */
  findConfirmation(confirmationId: string): Awaitable<ConfirmationSummary | undefined>;
  /** Entries as they are written, in the order of their positions. */
  readEntries(query: EntryQuery): Awaitable<readonly StoredEntry[]>;
  /** About how many bytes each of them has. Cheap, however large they are. */
  measureEntries(query: EntryQuery): Awaitable<readonly EntrySize[]>;
  /** What is kept beside the entries, row by row, for whoever holds it against them. */
  readBeside(): AsyncIterable<BesideRow>;
  /**
   * What is wrong with the store's own tables, held against its entries: indexes, cursors, read tables, the file. Changes
   * nothing, and never throws for what it finds. Empty where nothing is kept but entries.
   */
  inspect(signal: AbortSignal): AsyncIterable<StoreFinding>;
  /** Where the chain of every session stands, or of the one that is named. */
  readHeads(sessionId?: string): Awaitable<readonly Head[]>;
  /** The same a page at a time; fewer than asked for only at the end. What it takes does not grow with the sessions. */
  queryHeads(query: HeadQuery): Awaitable<readonly Head[]>;
  /** How many sessions have a chain. Cheap. */
  countSessions(): Awaitable<number>;
  /** Resolves when there is an entry after this position, or for whoever waits no more. */
  whenAppended(after: number, signal?: AbortSignal): Promise<void>;
  /** The position of the newest entry, 0 where there is none. What is appended from now on comes after it. */
  lastPosition(): Awaitable<number>;
  /** How far the reader of this name has got; undefined where there is none. */
  readCursor(name: string): Awaitable<Cursor | undefined>;
  /** Every cursor, by name. */
  readCursors(): Awaitable<readonly Cursor[]>;
  /**
   * Takes a cursor where nobody holds it, `holder` does already, or `instead` does, who must be known to be gone.
   * Gives the cursor as it is then: whoever is named in it holds it.
   */
  takeCursor(take: CursorTake): Awaitable<Cursor>;
  /** Moves a cursor without appending anything. False where somebody else holds it or it stands elsewhere. */
  moveCursor(move: CursorMove): Awaitable<boolean>;
  /** Lets go of a cursor, which stays where it is. Does nothing where somebody else holds it. */
  releaseCursor(name: string, holder: string): Awaitable<void>;
  /** Removes a cursor for good, whoever holds it. False where there is none of this name. */
  dropCursor(name: string): Awaitable<boolean>;
  /**
   * Empties the bodies of entries for good, and the artifacts and sealed inputs of their calls with them; of a whole
   * session, the states of its subjects too. Appends `body.erased` to say so. Gives how many entries that was. Refuses while a call concerned has no outcome.
   */
  erase(erasure: Erasure): Awaitable<number>;
  /**
   * Removes a session with everything that belongs to it, and keeps in the ledger's own chain that it was there and
   * how it ended. Refuses while a call of it has no outcome. False where there is no such session.
   */
  dropSession(removal: Removal): Awaitable<boolean>;
  /**
   * Makes again from the entries what can be: the read tables, claims, counters and effects in doubt. Sealed inputs
   * that no open call needs are dropped; artifacts are left as they are. Entries that cannot be read are left out: gives
   * which, and why, in words.
   */
  rebuild(): Awaitable<readonly string[]>;
  /** The files the ledger is kept in: calls may not touch them. Left out by a ledger that has none. */
  readonly ownFiles?: readonly OwnFile[];
  /** Who writes through this handle. Its life can be proven for as long as the handle is open. */
  readonly ownerId: string;
  /** Calls being made through this handle, and by how many runtimes: their owner is at them. Kept by the runtimes. */
  readonly inHand: Map<string, number>;
  /**
   * Does the owner still live? A slow or stopped owner is `alive`. Only an owner proven dead is `gone`. When the store
   * cannot look (no descriptors, no permission, an I/O error), the answer is `unknown`, and nothing may be taken over.
   */
  ownerStatus(ownerId: string): Awaitable<OwnerStatus>;
  /** Owners proven dead and not forgotten yet. Cheap: asked with every turn. */
  findGoneOwners(): Awaitable<readonly string[]>;
  /** Says that nothing of a gone owner needs to be seen to any more. */
  forgetOwner(ownerId: string): Awaitable<void>;
  /**
   * Keeps an entry that `append` could not take, in a place of its owner's that was made ready before. False where
   * that is not possible either. Whoever cannot spill may not promise anything: `canSpill` says so beforehand.
   */
  spill(entry: Entry): Awaitable<boolean>;
  /** Undefined for a ledger that lives and dies with its process: it has no such place, and needs none. */
  canSpill(): Awaitable<boolean | undefined>;
  /** What owners that are gone, and this one, have spilled. */
  readSpills(): Awaitable<readonly Spilled[]>;
  /**
   * Forgets what was spilled, once it is appended. False, and nothing is forgotten, where more was spilled after the
   * entry that is named.
   */
  dropSpill(ownerId: string, lastEntryId?: string): Awaitable<boolean>;
  /** Milliseconds since 1970 by the clock that expiry and days go by. */
  now(): number;
  /** 32 bytes, the same for everybody who may open what is sealed in this ledger. */
  readonly sealKey: Uint8Array;
  /** Keeps what was handed over, then ends the owner. Nothing may be asked afterwards. */
  close(): Promise<void>;
}

/** What a store knows about the life of an owner. Absence of proof is `unknown`, never `gone`. */
export type OwnerStatus = 'alive' | 'gone' | 'unknown';

/** The session in whose chain the ledger writes about itself. Nobody else may append to it. */
export const ledgerSessionId = 'quittance.ledger';

export type Entry = {
  readonly entryId: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
  /**
   * The version the call must have; 0 for a call that must not exist yet. `any` is for remarks, which change nothing
   * about a call (a recall, a late result): it must exist, and keeps its version. Ignored without a call.
   */
  readonly expectedVersion: number | 'any';
  readonly events: readonly (QuittanceEvent | EmittedEvent)[];
  readonly claim?: Claim | undefined;
  /** Gives a claim up, so that the next call with its key may run. */
  readonly releaseClaim?: string | undefined;
  readonly reserve?: readonly Reservation[] | undefined;
  readonly settle?: readonly Settlement[] | undefined;
  /** Sealed executed form of the input, kept until it is dropped. */
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
  /** Subjects of the session whose state is that of the last of these events that tells of them. */
  readonly moves?: readonly Move[] | undefined;
  /** Subjects that must stand where they are named, and stay there. A condition only: nothing of it is written. */
  readonly guards?: readonly Move[] | undefined;
  /** A reader's position, moved in the same commit as what the reader emits. */
  readonly cursor?: CursorMove | undefined;
  /** How many behaviours stand between this and something no behaviour caused. Left out for none. */
  readonly depth?: number | undefined;
};

/** Compare-and-set on a subject that calls of a session share: it must have this version, 0 if it never moved. */
export type Move = { readonly subject: string; readonly expectedVersion: number };
export type StoredState = { readonly version: number; readonly state: JsonObject };

export type AppendResult =
  | { readonly status: 'appended'; readonly version: number }
  /** The call has another version: somebody else was first. */
  | { readonly status: 'conflict'; readonly version: number }
  | { readonly status: 'claimed'; readonly holder: ClaimHolder }
  /** A subject has another version: somebody else moved it. */
  | { readonly status: 'moved'; readonly subject: string; readonly version: number }
  /** The cursor is held by somebody else, or stands elsewhere. One that is not there is held by nobody, at 0. */
  | { readonly status: 'displaced'; readonly holder: string | undefined; readonly position: number }
  | { readonly status: 'exhausted'; readonly counter: string; readonly used: number };

/**
 * How far a durable reader of the ledger has got, and who reads for it. It is about positions of this store, so it
 * stands in no chain, and a copy of the ledger has none.
 */
export type Cursor = {
  readonly name: string;
  /** The last entry that was read. */
  readonly position: number;
  readonly holder: string | undefined;
  /** The owner through whose handle the holder took it: as long as that lives, the holder may. */
  readonly ownerId: string | undefined;
};
export type CursorTake = {
  readonly name: string;
  readonly holder: string;
  readonly instead?: string | undefined;
  /** Where a cursor that is not there yet begins: with the entry after this position. */
  readonly startAfter: number;
};
/** Compare-and-set on a cursor: `holder` must hold it and it must stand at `from`. */
export type CursorMove = {
  readonly name: string;
  readonly holder: string;
  readonly from: number;
  readonly to: number;
};

/** Takes a key that a tool made, unless somebody has it. */
export type Claim = {
  readonly key: string;
  readonly inputDigest: string;
  /** A person allowed to run again what this call left in doubt: its claim passes on. */
  readonly supersedes?: Pick<ClaimHolder, 'sessionId' | 'callId'>;
};
export type ClaimHolder = {
  readonly sessionId: string;
  readonly callId: string;
  readonly inputDigest: string;
};

/** Takes `amount` of what is left under `limit`, or nothing. */
export type Reservation = { readonly counter: string; readonly amount: number; readonly limit: number };
/** Gives back what was reserved and charges what was used. With `reset` what is used becomes `used`, whatever it was. */
export type Settlement = {
  readonly counter: string;
  readonly reserved: number;
  readonly used: number;
  readonly reset?: true | undefined;
};
export type Counter = { readonly used: number; readonly reserved: number };
/** What a counter has come to with an entry. It is part of the entry's hashed text: see rule 4 of this file. */
export type CounterTotal = Counter & { readonly counter: string };

export type StoredCall = {
  readonly version: number;
  readonly events: readonly QuittanceEvent[];
  /** Who moved the call last, other than by deciding about it, and so is at it while it has no outcome. */
  readonly ownerId: string;
  /** How many behaviours stand between its request and something no behaviour caused. Left out for none. */
  readonly depth?: number;
  /** The key that its last claim is on. It may have been released or passed on since: `readClaim` says who has it. */
  readonly claimKey?: string;
  /**
   * Says what is wrong where stored entries of the call are not those that were appended. Left out by stores that
   * nothing outside the process can change.
   */
  readonly findAlteration?: () => Awaitable<string | undefined>;
};

export type NewArtifact = {
  readonly artifactId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly mimeType: string;
  readonly content: string | Uint8Array;
};
export type StoredArtifact = Pick<NewArtifact, 'artifactId' | 'mimeType' | 'content'> & {
  /** The call that made it. Left out by stores that nothing outside the process can change. */
  readonly callId?: string;
};

export type ArtifactFacts = {
  readonly mimeType: string;
  readonly encoding: 'utf8' | 'utf16le' | 'bytes';
  readonly bytes: number;
};

/** A call nobody has ended yet, and who was at it last. */
export type OpenCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
  /** To go on after it. Means something to this store only. */
  readonly place: string;
  /** As the list has them; a store that would have to read the call leaves them out. */
  readonly status?: CallSummary['status'];
  readonly mode?: CallSummary['mode'];
};
export type OpenCallQuery = { readonly after?: string; readonly limit?: number };

export type Spilled = { readonly ownerId: string; readonly entries: readonly Entry[] };

/** What to erase: some entries of a session, or all of them. */
export type Erasure = {
  readonly sessionId: string;
  readonly entryIds?: readonly string[];
  readonly by: string;
  /** How the host knows who erases. The name counts as self-asserted where nothing is said. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
};

export type Removal = {
  readonly sessionId: string;
  readonly by: string;
  /** How the host knows who removes it. The name counts as self-asserted where nothing is said. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
};
