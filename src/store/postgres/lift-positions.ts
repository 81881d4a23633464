/**
 * A dump that was restored into another server has positions of transactions which that server has not reached. So has a
 * ledger that logical replication brought there, also for processes that go on running. The base lifts new positions over
 * them.
 *
 * Processes lift one after the other, so that two of them never choose different bases. Appends that began with the old
 * base are refused: see `append-functions.ts`.
 */
import { placesPerTransaction } from './migrations.ts';
import { lowState, sqlStateOf } from './pg-driver.ts';
import type { PgPool } from './pg-pool.ts';

export async function liftPositions(pool: PgPool): Promise<void> {
  const [row] = await pool.query<{ low: boolean }>(`SELECT ${isLowSql} AS low`);
  if (row?.low !== true) return;
  await pool.transaction(async (query) => {
    await query(
      `SELECT pg_advisory_xact_lock(hashtextextended('quittance positions ${pool.settings.schema}', 5498))`,
    );
    await query(liftSql);
  });
}

/** Does work that takes positions, a second time if they were too low. */
export async function withLiftedPositions<Result>(
  pool: PgPool,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (sqlStateOf((error as Error).cause) !== lowState) throw error;
    await liftPositions(pool);
    return work();
  }
}

/** The highest position that a reader may have passed: lists go up to the horizon, which is above the last entry. */
const lastSql = `(SELECT coalesce(greatest((SELECT max(position) FROM @entries), (SELECT max(position) FROM @read_progress),
  (SELECT max(position) FROM @cursors)), 0) / ${placesPerTransaction} AS transaction) last`;
/** Would a new position be below one that a reader may have passed? */
export const isLowSql: string = `(SELECT position_base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint <= last.transaction
  FROM @ledger, ${lastSql})`;
const liftSql = `UPDATE @ledger SET position_base = last.transaction + 1 - pg_current_xact_id()::text::bigint
  FROM ${lastSql} WHERE position_base + pg_current_xact_id()::text::bigint <= last.transaction`;
