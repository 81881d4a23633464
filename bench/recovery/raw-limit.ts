/** What the entries of one recovery take with nothing but SQLite and JSON.parse. */
export type RawLimit = {
  /** Reading and parsing every entry there was before. */
  readonly readSeconds: number;
  /** Writing every entry that was added, with a flush to disk after each batch. */
  readonly writeSeconds: number;
};
