/**
 * An entry in stored form: the chained text, and separately the parts that may be erased without breaking the chain.
 */
export type StoredEntry = {
  /** Position in this store. Another store assigns another one. */
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

/** The value of a text column. Bytes are not accepted as text, even if they decode to the written one. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : `(not a text: ${String(value)})`;

/** Selects entries after a position, of one session or of all. */
export type EntryQuery = {
  readonly after?: number;
  readonly sessionId?: string;
  readonly limit: number;
  /**
   * Only entries up to this position whose text contains one of these, for readers that need few of many. A store may
   * return others too: the filter only saves work.
   */
  readonly about?: { readonly until: number; readonly texts: readonly [string, string] };
};

export type EntrySize = Pick<StoredEntry, 'position' | 'sessionId'> & { readonly bytes: number };
