/** The time that the entries of one recovery take with plain SQLite and JSON.parse. */
export type RawLimit = {
  /** Reading and parsing every earlier entry. */
  readonly readSeconds: number;
  /** Writing every added entry, with a flush to disk after each batch. */
  readonly writeSeconds: number;
};
