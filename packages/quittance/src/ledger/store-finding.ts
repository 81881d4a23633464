/** A problem that a store finds with its own tables: an index, a mark, a cursor, a read table, the file itself. */
export type StoreFinding = {
  readonly kind: 'file' | 'side_row' | 'read_table';
  /** A note reports something foreign and harmless, e.g. the tables of a backup tool. */
  readonly level: 'problem' | 'note';
  /** Says what was found and what to do. Quotes identifiers, never payloads. */
  readonly message: string;
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly position?: number | undefined;
};
