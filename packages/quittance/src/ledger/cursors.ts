/**
 * The position of a durable reader of the ledger, and its holder. Positions belong to this store, so a cursor is in
 * no chain, and a copy of the ledger has none.
 */
export type Cursor = {
  readonly name: string;
  /** The last entry that was read. */
  readonly position: number;
  readonly holder: string | undefined;
  /** The owner whose handle the holder used. While that owner is alive, the holder may be too. */
  readonly ownerId: string | undefined;
};
/** Compare-and-set on a cursor: `holder` must hold it and its position must be `from`. */
export type CursorMove = {
  readonly name: string;
  readonly holder: string;
  readonly from: number;
  readonly to: number;
};

/** Stores a cursor, or removes it if `next` is missing, if it still has this holder and position. */
export type CursorChange = {
  readonly name: string;
  /** Missing: there is no cursor of this name yet. */
  readonly expected: CursorPlace | undefined;
  readonly next: CursorPlace | undefined;
};
export type CursorPlace = Pick<Cursor, 'position' | 'holder'>;
