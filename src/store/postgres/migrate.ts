/** Creates the tables of a ledger, or brings them up to this version, under a lock that all processes take. */
import { randomUUID } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { migrations } from './migrations.ts';
import { placesPerTransaction } from './migrations.ts';

export type LedgerRow = {
  readonly ledgerId: string;
  readonly format: number;
  readonly keyCheck: string | null;
};

const columns = 'ledger_id AS "ledgerId", format, key_check AS "keyCheck"';

/** The row of the ledger; undefined where the tables do not exist. */
export async function readLedgerRow(pool: PgPool): Promise<LedgerRow | undefined> {
  const [exists] = await pool.query<{ found: boolean }>(`SELECT to_regclass($1) IS NOT NULL AS found`, [
    `${pool.settings.schema}.ledger`,
  ]);
  if (exists?.found !== true) return undefined;
  const [row] = await pool.query<LedgerRow>(`SELECT ${columns} FROM @ledger`);
  return row;
}

export async function migrate(pool: PgPool): Promise<LedgerRow> {
  const { schema } = pool.settings;
  return pool.transaction(async (query) => {
    await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 5498))', [`quittance migrate ${schema}`]);
    const found = await formatOf(query, schema);
    refuseNewer(found);
    if (found === 0) await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await query(`SET LOCAL search_path TO ${schema}`);
    for (const sql of migrations.slice(found)) await query(sql);
    if (found === 0)
      await query(`INSERT INTO ledger (ledger_id, format) VALUES ($1, $2)`, [
        randomUUID(),
        migrations.length,
      ]);
    else await query('UPDATE ledger SET format = $1', [migrations.length]);
    const [row] = await query<LedgerRow>(`SELECT ${columns} FROM ledger`);
    return row as LedgerRow; // written just now
  });
}

/** Says what to do where the tables are not those of this version. */
export function requireFormat(row: LedgerRow | undefined): LedgerRow {
  refuseNewer(row?.format ?? 0);
  if (row?.format === migrations.length) return row;
  throw new QuittanceError(
    'config.invalid',
    'The PostgreSQL database has no Quittance tables of this version. Run `quittance migrate` with a role that may create them.',
  );
}

function refuseNewer(found: number): void {
  if (found <= migrations.length) return;
  throw new QuittanceError(
    'ledger.newer',
    `A newer version of this package wrote this ledger: it has format ${found}, and this program knows formats up to ` +
      `${migrations.length}. Update the package to open it.`,
    { found: String(found), known: String(migrations.length) },
  );
}

async function formatOf(query: PgQuery, schema: string): Promise<number> {
  const [exists] = await query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    `${schema}.ledger`,
  ]);
  if (exists?.found !== true) return 0;
  const [row] = await query<{ format: number }>('SELECT format FROM @ledger');
  return row?.format ?? 0;
}

/**
 * A dump that was restored into another server has positions of transactions which that server has not reached. The base
 * lifts new positions over them.
 */
export async function liftPositions(pool: PgPool): Promise<void> {
  await pool.query(
    `UPDATE @ledger SET position_base = last.transaction + 1 - pg_current_xact_id()::text::bigint
     FROM (SELECT coalesce(max(position), 0) / ${placesPerTransaction} AS transaction FROM @entries) last
     WHERE position_base + pg_current_xact_id()::text::bigint <= last.transaction`,
  );
}
