/**
 * Opens a PostgreSQL ledger as it is at one moment: all reads are statements of one repeatable-read transaction. Writers
 * are not blocked.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { readLedgerRow, requireFormat } from './migrate.ts';
import { PgPool } from './pg-pool.ts';
import { PostgresLedger } from './postgres-ledger.ts';
import { readSettings } from './settings.ts';

export type LedgerSnapshot = {
  readonly ledger: Ledger;
  readonly ledgerId: string;
  /** Throws if the transaction ended early: what was read may then be of several moments. */
  readonly check: () => Promise<void>;
};

const moment = `SELECT pg_backend_pid() || ' ' || now() AS transaction`;

export async function openPostgresSnapshot(url: string): Promise<LedgerSnapshot> {
  // With a single connection every statement is part of the transaction that the first one begins.
  const settings = { ...readSettings(url, {}), readers: 1, listenUrls: 'off', outageWaitMs: 0 } as const;
  const pool = new PgPool(settings);
  try {
    const row = requireFormat(await readLedgerRow(pool), settings);
    await pool.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await pool.query(
      `SELECT set_config('idle_in_transaction_session_timeout', '0', true), set_config('statement_timeout', '0', true)`,
    );
    const begun = await readMoment(pool);
    const ledger = new PostgresLedger(pool, { ...row, mayAppend: false }, { readOnly: true });
    await ledger.owners.begin();
    const check = async (): Promise<void> => {
      if ((await readMoment(pool)) === begun) return;
      throw new QuittanceError(
        'ledger.unavailable',
        'The connection to the PostgreSQL server broke during the backup, so nothing was kept. Try again.',
      );
    };
    return { ledger, ledgerId: row.ledgerId, check };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

async function readMoment(pool: PgPool): Promise<string | undefined> {
  const [row] = await pool.query<{ transaction: string }>(moment);
  return row?.transaction;
}
