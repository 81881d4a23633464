/** The positions of durable readers of the ledger. */
import type { Awaitable } from '../base/json.ts';

export interface Cursors {
  /** The cursor of this name; undefined if there is none. */
  read(name: string): Awaitable<Cursor | undefined>;
  /** Every cursor, by name. */
  list(): Awaitable<readonly Cursor[]>;
  /**
   * Takes a cursor that is free, that `holder` already holds, or that `instead` holds, which must be known to be gone.
   * Returns the cursor as it is afterwards: the holder it names is the one that holds it.
   */
  take(take: CursorTake): Awaitable<Cursor>;
  /** Moves a cursor without an append. False if another holder has it or it has another position. */
  move(move: CursorMove): Awaitable<boolean>;
  /** Releases a cursor, which keeps its position. Does nothing if another holder has it. */
  release(name: string, holder: string): Awaitable<void>;
  /** Removes a cursor permanently, even if it is held. False if there is none of this name. */
  drop(name: string): Awaitable<boolean>;
}

/**
 * The position of a durable reader of the ledger, and its holder. Positions belong to this store, so a cursor is in
 * no chain, and a copy of the ledger has none.
 */
export type Cursor = {
  readonly name: string;
  /** The last entry that was read. */
  readonly position: number;
  readonly holder: string | undefined;
  /** The owner whose handle the holder used: while that owner lives, the holder may live. */
  readonly ownerId: string | undefined;
};
export type CursorTake = {
  readonly name: string;
  readonly holder: string;
  readonly instead?: string | undefined;
  /** A new cursor starts with the entry after this position. */
  readonly startAfter: number;
};
/** Compare-and-set on a cursor: `holder` must hold it and its position must be `from`. */
export type CursorMove = {
  readonly name: string;
  readonly holder: string;
  readonly from: number;
  readonly to: number;
};
