/**
 * The entries of the ledger, and calls as they are read back.
 *
 * 1. An append is all or nothing: its events, its claim, its reservations, its sealed input.
 * 2. An expected result is a status: another process was first, the key is taken, the budget is spent. An exception
 *    means that the store could not be reached or could not write, and that it stored nothing.
 * 3. The version of a call orders the appends about it: an append that names an old version is refused.
 */
import type { JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Claim, ClaimHolder, Reservation, Settlement } from './claims.ts';
import type { CursorMove } from './cursors.ts';

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
  /** Subjects of the session whose state this entry changes. The new state of each is in the last of these events about it. */
  readonly moves?: readonly Move[] | undefined;
  /** Subjects that must have the given version and keep it. Only a condition: nothing is written. */
  readonly guards?: readonly Move[] | undefined;
  /** The position of a reader, changed in the same commit as the events that the reader emits. */
  readonly cursor?: CursorMove | undefined;
  /** Length of the chain of behaviors that caused this. Absent if no behavior did. */
  readonly depth?: number | undefined;
};

/** Compare-and-set on a state that the calls of a session share: it must have this version, 0 if it was never set. */
export type Move = { readonly subject: string; readonly expectedVersion: number };
export type StoredState = { readonly version: number; readonly state: JsonObject };

export type AppendResult =
  | { readonly status: 'appended'; readonly version: number }
  /** The call has another version: another process was first. */
  | { readonly status: 'conflict'; readonly version: number }
  | { readonly status: 'claimed'; readonly holder: ClaimHolder }
  /** A subject has another version, because another call changed it. Or an effect is unsettled: see `LookUp`. */
  | { readonly status: 'moved'; readonly subject: string; readonly version: number }
  /** Another holder has the cursor, or it has another position. A missing cursor has no holder and position 0. */
  | { readonly status: 'displaced'; readonly holder: string | undefined; readonly position: number }
  | { readonly status: 'exhausted'; readonly counter: string; readonly used: number };

export type StoredCall = {
  readonly version: number;
  readonly events: readonly QuittanceEvent[];
  /** The owner of the call while it has no outcome: the process that last appended to it, except for decisions. */
  readonly ownerId: string;
  /** Length of the chain of behaviors that caused its request. Absent if no behavior did. */
  readonly depth?: number;
  /** The key of its last claim. It may have been released or passed on since: see `readClaim`. */
  readonly claimKey?: string;
  /**
   * Describes the problem if stored entries of the call are not the appended ones. Absent in stores that nothing
   * outside the process can change.
   */
  readonly findAlteration?: () => Promise<string | undefined>;
};
