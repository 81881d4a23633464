/** A ledger file whose disk can be full: the limit is SQLite's own, set on the connection that writes. */
import type { Clock } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { prepareSchema } from '../../packages/quittance/src/store/sqlite/schema.ts';
import { SqliteLedger } from '../../packages/quittance/src/store/sqlite/sqlite-ledger.ts';
import { openBare } from '../bare-database.ts';
import { disturbed, setPragmas } from '../writer-thread/disturbance.ts';

export type LedgerFile = {
  readonly ledger: OpenLedger;
  /** From now on the file cannot grow. */
  readonly fill: () => void;
  readonly free: () => void;
  /** From now on the file is read-only. */
  readonly protect: () => void;
  readonly release: () => void;
};

/** Does what `openLedger` does, with access to the writer thread. */
export function openLedgerFile(path: string, spillBytes?: number, clock?: Clock): LedgerFile {
  const database = openBare(path);
  void prepareSchema(database, path); // a new file is made at once
  database.pragma('busy_timeout = 0');
  const ledger = new SqliteLedger(database, path, { spillBytes, clock }, disturbed);
  const set = (pragma: string): void => setPragmas(ledger.ownerId, [pragma]);
  return {
    ledger,
    fill: () => set(`max_page_count = ${String(database.pragma('page_count', { simple: true }))}`),
    free: () => set('max_page_count = 1000000'),
    protect: () => set('query_only = ON'),
    release: () => set('query_only = OFF'),
  };
}
