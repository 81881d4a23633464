/** A ledger file whose disk can be full: the limit is SQLite's own, set on the writing handle. */
import type { Clock } from 'quittance/runtime';
import type { Ledger } from 'quittance/store';
import BetterSqlite3 from 'better-sqlite3';
import { prepareSchema } from '../../src/store/sqlite/schema.ts';
import { SqliteLedger } from '../../src/store/sqlite/sqlite-ledger.ts';

export type LedgerFile = {
  readonly ledger: Ledger;
  /** From now on the file cannot grow. */
  readonly fill: () => void;
  readonly free: () => void;
  /** From now on the file is read-only. */
  readonly protect: () => void;
  readonly release: () => void;
};

/** Does what `openLedger` does, with access to the connection. */
export function openLedgerFile(path: string, spillBytes?: number, clock?: Clock): LedgerFile {
  const database = new BetterSqlite3(path, { timeout: 5_000 });
  prepareSchema(database, path);
  database.pragma('busy_timeout = 0');
  database.pragma('synchronous = FULL');
  return {
    ledger: new SqliteLedger(database, path, { spillBytes, clock }),
    fill: () =>
      database.pragma(`max_page_count = ${String(database.pragma('page_count', { simple: true }))}`),
    free: () => database.pragma('max_page_count = 1000000'),
    protect: () => database.pragma('query_only = ON'),
    release: () => database.pragma('query_only = OFF'),
  };
}
