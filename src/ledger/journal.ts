/**
 * The journal: entries of calls are appended to it, and calls are read from it.
 *
 * 1. An append is all or nothing: its events, its claim, its reservations, its sealed input.
 * 2. An expected result is a status: another process was first, the key is taken, the budget is spent. An exception
 *    means that the store could not be reached or could not write, and that it stored nothing.
 * 3. The version of a call orders the appends about it: an append that names an old version is refused.
 */
import type { Awaitable, JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Claim, ClaimHolder, Reservation, Settlement } from './claims.ts';
import type { CursorMove } from './cursors.ts';
import type { LookUp } from './look-up.ts';

export interface Journal {
  append(entry: Entry): Awaitable<AppendResult>;
  /** The events of a call with the version to name in the next append; undefined for an unknown call. */
  readCall(sessionId: string, callId: string, lookUp?: LookUp): Awaitable<StoredCall | undefined>;
  /**
   * Approximate number of bytes that `readCall` would read; 0 for an unknown call. Cheap even for a large call: a
   * reader that must not block checks this first.
   */
  measureCall(sessionId: string, callId: string): Awaitable<number>;
  /** Every event of a session in append order, including those that behaviors emitted: see `isEmittedEvent`. */
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
 * Selects the events of a session to read: all, or those of entries without a call. A store may return all events in
 * both cases: the scope only saves work.
 */
export type SessionScope = 'all' | 'without_call';

export type Entry = {
  readonly entryId: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
  /**
   * The version the call must have; 0 for a call that must not exist yet. `any` is for remarks, which do not change a
   * call (a recall, a late result): the call must exist, and keeps its version. Ignored without a call.
   */
  readonly expectedVersion: number | 'any';
  readonly events: readonly (QuittanceEvent | EmittedEvent)[];
  readonly claim?: Claim | undefined;
  /** Releases a claim, so that the next call with its key may run. */
  readonly releaseClaim?: string | undefined;
  readonly reserve?: readonly Reservation[] | undefined;
  readonly settle?: readonly Settlement[] | undefined;
  /** The sealed executed form of the input, stored until it is dropped. */
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
  /** Subjects of the session that this entry moves. The state of each is in the last of these events about it. */
  readonly moves?: readonly Move[] | undefined;
  /** Subjects that must have the given version and keep it. Only a condition: nothing is written. */
  readonly guards?: readonly Move[] | undefined;
  /** The position of a reader, moved in the same commit as the events that the reader emits. */
  readonly cursor?: CursorMove | undefined;
  /** Length of the chain of behaviors that caused this. Absent if no behavior did. */
  readonly depth?: number | undefined;
};

/** Compare-and-set on a subject that the calls of a session share: it must have this version, 0 if it never moved. */
export type Move = { readonly subject: string; readonly expectedVersion: number };
export type StoredState = { readonly version: number; readonly state: JsonObject };

export type AppendResult =
  | { readonly status: 'appended'; readonly version: number }
  /** The call has another version: another process was first. */
  | { readonly status: 'conflict'; readonly version: number }
  | { readonly status: 'claimed'; readonly holder: ClaimHolder }
  /** A subject has another version: another call moved it. Or an effect is unsettled after all: see `LookUp`. */
  | { readonly status: 'moved'; readonly subject: string; readonly version: number }
  /** Another holder has the cursor, or it has another position. A missing cursor has no holder and position 0. */
  | { readonly status: 'displaced'; readonly holder: string | undefined; readonly position: number }
  | { readonly status: 'exhausted'; readonly counter: string; readonly used: number };

export type StoredCall = {
  readonly version: number;
  readonly events: readonly QuittanceEvent[];
  /** The owner of the call while it has no outcome: the process that last moved it, other than by a decision. */
  readonly ownerId: string;
  /** Length of the chain of behaviors that caused its request. Absent if no behavior did. */
  readonly depth?: number;
  /** The key of its last claim. It may have been released or passed on since: `readClaim` says who has it. */
  readonly claimKey?: string;
  /**
   * Describes the problem if stored entries of the call are not the appended ones. Absent in stores that nothing
   * outside the process can change.
   */
  readonly findAlteration?: () => Awaitable<string | undefined>;
};
