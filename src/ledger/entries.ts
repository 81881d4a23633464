/** Entries in stored form, in order of position: for tails, behaviors, exports and verification. */
import type { Awaitable } from '../base/json.ts';
import type { EntryQuery, EntrySize, StoredEntry } from './stored-entry.ts';

export interface Entries {
  /** True if positions skip numbers, so that the difference of two says nothing about the entries between them. */
  readonly hasGaps?: boolean | undefined;
  read(query: EntryQuery): Awaitable<readonly StoredEntry[]>;
  /** Approximate number of bytes of each entry. Cheap even for large entries. */
  measure(query: EntryQuery): Awaitable<readonly EntrySize[]>;
  /** Resolves when there is an entry after this position, or when the signal aborts. */
  whenAppended(after: number, signal?: AbortSignal): Promise<void>;
  /** The position of the newest entry, 0 if there is none. Every later append comes after it. */
  lastPosition(): Awaitable<number>;
}
