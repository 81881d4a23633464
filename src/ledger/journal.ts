/**
 * The journal: where the entries of calls are appended and the calls are read back.
 *
 * 1. An append is all or nothing: its events, its claim, its reservations, its sealed input.
 * 2. A result that a caller must expect is a status: another process was first, the key is taken, the budget is spent.
 *    An exception means that the store could not be reached or could not write, and that it kept nothing.
 * 3. The version of a call orders the appends about it: an append that names an old version is refused.
 */
import type { Awaitable, JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Claim, ClaimHolder, Reservation, Settlement } from './claims.ts';
import type { CursorMove } from './cursors.ts';

export interface Journal {
  append(entry: Entry): Awaitable<AppendResult>;
  /** The events of a call with the version to name in the next append; undefined for an unknown call. */
  readCall(sessionId: string, callId: string): Awaitable<StoredCall | undefined>;
  /**
   * About how many bytes `readCall` would read; 0 for an unknown call. Cheap even for a large call: a reader that must
   * not block asks this first.
   */
  measureCall(sessionId: string, callId: string): Awaitable<number>;
  /** Every event of a session in the order of appending, with the events that behaviors emitted: see `isEmittedEvent`. */
  readSession(sessionId: string, scope?: SessionScope): Awaitable<readonly QuittanceEvent[]>;
  /** The state of a subject of the session, for example of a workflow; undefined before its first move. */
  readState(sessionId: string, subject: string): Awaitable<StoredState | undefined>;
  /** The sealed input of a call; undefined if there is none or it was dropped. */
  readSealed(sessionId: string, callId: string): Awaitable<string | undefined>;
  /**
   * Resolves when the version of the call differs from this one: at once for an unknown call. Also resolves when the
   * signal aborts; the store then keeps nothing for the waiting caller.
   */
  whenChanged(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Which events of a session to read: all, or those of entries that are about no call. A store may answer the second
 * with all events: the scope only saves reading them.
 */
export type SessionScope = 'all' | 'without_call';

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
