import type { Entries } from '../../ledger/entries.ts';
import type { EntryQuery, EntrySize, StoredEntry } from '../../ledger/stored-entry.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import type { ChangeWatch } from './change-watch.ts';

export class SqliteEntries implements Entries {
  readonly #heads: Heads;
  readonly #table: EntryTable;
  readonly #watch: ChangeWatch;

  constructor(heads: Heads, table: EntryTable, watch: ChangeWatch) {
    this.#heads = heads;
    this.#table = table;
    this.#watch = watch;
  }

  read(query: EntryQuery): readonly StoredEntry[] {
    if (query.sessionId === undefined) return this.#table.read(query, undefined);
    const head = this.#heads.fresh().find(query.sessionId);
    return head === undefined ? [] : this.#table.read(query, head);
  }

  measure(query: EntryQuery): readonly EntrySize[] {
    if (query.sessionId === undefined) return this.#table.measure(query, undefined);
    const head = this.#heads.fresh().find(query.sessionId);
    return head === undefined ? [] : this.#table.measure(query, head);
  }

  whenAppended(after: number, signal?: AbortSignal): Promise<void> {
    return this.#watch.end(after, signal);
  }

  lastPosition(): number {
    return this.#heads.fresh().position;
  }
}
