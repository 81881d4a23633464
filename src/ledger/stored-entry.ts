/** An entry as it is written: the chained text, and beside it what may be erased without breaking the chain. */
export type StoredEntry = {
  /** Where it stands in this store. Another store gives another one. */
  readonly position: number;
  readonly sessionId: string;
  /** From 1, without a gap, within the session. */
  readonly sequence: number;
  readonly text: string;
  /** Undefined once erased. */
  readonly bodies: string | undefined;
  readonly salt: string | undefined;
  readonly hash: string;
};

/** Which entries to read: those after a position, of one session or of all. */
export type EntryQuery = {
  readonly after?: number;
  readonly sessionId?: string;
  readonly limit: number;
  /**
   * Only entries up to this position whose text contains one of these, for whoever needs few of many. A store may answer
   * with others too: it only spares reading them.
   */
  readonly about?: { readonly until: number; readonly texts: readonly [string, string] };
};

export type EntrySize = Pick<StoredEntry, 'position' | 'sessionId'> & { readonly bytes: number };
