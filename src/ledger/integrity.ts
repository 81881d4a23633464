/** What verification and repair of a ledger need from its store. */
import type { Awaitable } from '../base/json.ts';
import type { SideRow } from './side-row.ts';
import type { Head, HeadQuery } from './chain.ts';
import type { StoreFinding } from './store-finding.ts';

export interface Integrity {
  /** The last hash of the chain of every session, or of the named one. */
  readHeads(sessionId?: string): Awaitable<readonly Head[]>;
  /**
   * The same, one page at a time; only the last page is shorter than requested. Its cost does not grow with the
   * number of sessions.
   */
  findHeads(query: HeadQuery): Awaitable<readonly Head[]>;
  /** The number of sessions with a chain. Cheap. */
  countSessions(): Awaitable<number>;
  /** State stored outside entries, row by row, to compare with the entries. */
  readSideRows(): AsyncIterable<SideRow>;
  /**
   * Compares the store's own tables with its entries: indexes, cursors, read tables, the file. Changes nothing, and
   * never throws because of its findings. Empty for a store that keeps only entries.
   */
  inspect(signal: AbortSignal): AsyncIterable<StoreFinding>;
  /**
   * Rebuilds from the entries: the read tables, claims, counters and unresolved effects. Drops sealed inputs that no
   * open call needs, and leaves artifacts unchanged. Skips entries that cannot be read, and returns a sentence about
   * each of them.
   */
  rebuild(): Awaitable<readonly string[]>;
}
