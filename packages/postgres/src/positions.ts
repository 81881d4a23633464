/**
 * The positions of entries: in which order readers see them, and how they stay in that order on another server.
 *
 * 1. Transactions commit in another order than they began. A reader that passed a position whose transaction is still
 *    under way would never see its entries. Positions begin with the id of the transaction. The server knows the oldest
 *    transaction that is still under way. Readers of all sessions see only entries before it: it is the horizon.
 * 2. An open write transaction of any database on the server holds the horizon back. Entries of one session need no
 *    horizon: its head is locked until each of its transactions commits.
 * 3. A dump that was restored into another server has positions of transactions which that server has not reached. So
 *    has a ledger that logical replication brought there, also for processes that go on running. The base lifts new
 *    positions over them.
 * 4. Processes lift one after the other, so that two of them never choose different bases. Appends that began with the
 *    old base are refused: see `append-functions.ts`.
 */
import { placesPerTransaction } from './migrations.ts';
import { lowState, sqlStateOf } from './pg-driver.ts';
import type { PgPool } from './pg-pool.ts';
import type { EntryQuery } from 'quittance/internal/ledger/stored-entry';

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

/** The highest position that a reader may have passed. */
const lastSql = `(SELECT coalesce(greatest((SELECT max(position) FROM @entries), (SELECT max(position) FROM @cursors)), 0) / ${placesPerTransaction} AS transaction) last`;
/** Would a new position be below one that a reader may have passed? */
export const isLowSql: string = `(SELECT position_base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint <= last.transaction
  FROM @ledger, ${lastSql})`;
const liftSql = `UPDATE @ledger SET position_base = last.transaction + 1 - pg_current_xact_id()::text::bigint
  FROM ${lastSql} WHERE position_base + pg_current_xact_id()::text::bigint <= last.transaction`;

export const horizonSql =
  '(SELECT (position_base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) * 1024 FROM @ledger)';

/** How long a reader waits until the horizon has passed what this process wrote. */
const longestWaitMs = 1_000;
const pauseMs = 3;

/** The end of the ledger as readers of this process see it. */
export class Horizon {
  readonly #pool: PgPool;
  /** The last position that this process wrote. */
  #ownLast = 0;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  noteOwn(position: number): void {
    if (position > this.#ownLast) this.#ownLast = position;
  }

  async lastPosition(): Promise<number> {
    await this.untilOwnAreSeen({});
    return this.readLast();
  }

  /** The last entry before the horizon. */
  async readLast(): Promise<number> {
    const [row] = await this.#pool.read<{ last: number | null }>(
      `SELECT (SELECT e.position FROM @entries e WHERE e.position < ${horizonSql}
        ORDER BY e.position DESC LIMIT 1) AS last`,
    );
    return row?.last ?? 0;
  }

  /** Waits until a reader of all sessions sees what this process wrote. */
  async untilOwnAreSeen({ sessionId, after = 0 }: Pick<EntryQuery, 'sessionId' | 'after'>): Promise<void> {
    const target = this.#ownLast;
    if (sessionId !== undefined || after >= target) return;
    const untilMs = performance.now() + longestWaitMs;
    for (;;) {
      const [row] = await this.#pool.read<{ horizon: number }>(`SELECT ${horizonSql} AS horizon`);
      if ((row?.horizon ?? 0) > target || performance.now() > untilMs) return;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
