/** Storage of each owner for entries that the ledger could not append: see `docs/ledger.md`. */
import type { Awaitable } from '../base/json.ts';
import type { Entry } from './journal.ts';

export interface Spill {
  /** Stores an entry that `append` could not store, in space allocated before. False if that fails too. */
  write(entry: Entry): Awaitable<boolean>;
  /**
   * Is there space for one more entry? No body may run without it. Undefined for a ledger that ends with its process,
   * which needs no spill.
   */
  canWrite(): Awaitable<boolean | undefined>;
  /** The spilled entries of this owner and of owners that are gone. */
  read(): Awaitable<readonly Spilled[]>;
  /** Forgets spilled entries once they are appended. False, and nothing is forgotten, if the owner spilled more after the named entry. */
  drop(ownerId: string, lastEntryId?: string): Awaitable<boolean>;
}

export type Spilled = { readonly ownerId: string; readonly entries: readonly Entry[] };
