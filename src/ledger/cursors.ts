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
  /** Removes a cursor for good, also one that is held. False if there is none of this name. */
  drop(name: string): Awaitable<boolean>;
}

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
