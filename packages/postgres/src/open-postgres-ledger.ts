import { QuittanceError } from 'quittance/internal/base/error';
import { checkOfKeys, passKeyCheck } from 'quittance/internal/ledger/seal';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { LedgerRow } from './migrate.ts';
import { migrate, readLedgerRow, requireFormat } from './migrate.ts';
import { liftPositions } from './positions.ts';
import { isBroken, PgPool } from './pg-pool.ts';
import { beginLedger } from './postgres-ledger.ts';
import type { PostgresLedgerOptions } from 'quittance/internal/store/postgres-package';
import { readSettings } from './settings.ts';
import { SchemaGuard } from './append-lane.ts';

const pauseMs = 50;

/**
 * Opens a ledger in PostgreSQL. Creates its tables if there are none and the role may do that. A connection that is lost
 * meanwhile is made again, as for appends: every step may be repeated. A server that never answered fails at once.
 */
export async function openPostgresLedger(
  url: string,
  options: PostgresLedgerOptions = {},
): Promise<OpenLedger> {
  const settings = readSettings(url, options);
  const untilMs = performance.now() + settings.outageWaitMs;
  let hasConnected = false;
  for (;;) {
    const pool = new PgPool(settings);
    try {
      return await openOn(pool, options);
    } catch (error) {
      hasConnected ||= pool.hasConnected;
      if (!hasConnected || performance.now() > untilMs || !isBroken((error as Error).cause)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

async function openOn(pool: PgPool, options: PostgresLedgerOptions): Promise<OpenLedger> {
  try {
    const found = await readLedgerRow(pool);
    const mayMigrate = options.readOnly !== true && options.migrate !== false;
    const row = await requireLists(
      pool,
      requireFormat(mayMigrate ? await upToDate(pool, found, options) : found, pool.settings),
    );
    const guard = options.readOnly === true ? undefined : new SchemaGuard(pool);
    await guard?.renew();
    const mayAppend = options.readOnly !== true && (await readMayAppend(pool));
    if (options.sealKey !== undefined) await checkSealKey(pool, row, options.sealKey, mayAppend);
    if (mayAppend) await liftPositions(pool);
    return await beginLedger(pool, { ...row, mayAppend, guard }, options);
  } catch (error) {
    await pool.close();
    throw error;
  }
}

async function upToDate(
  pool: PgPool,
  found: LedgerRow | undefined,
  { onUpgrade }: PostgresLedgerOptions,
): Promise<LedgerRow> {
  try {
    const row = requireFormat(found, pool.settings);
    if (row.fillAfter === undefined || !(await readMayFill(pool))) return row;
  } catch {
    // The tables are older, or there are none.
  }
  return migrate(pool, onUpgrade);
}

/** Only the role of the migrations may make the index at the end. */
async function readMayFill(pool: PgPool): Promise<boolean> {
  const [row] = await pool.query<{ may: boolean }>(
    `SELECT pg_has_role(c.relowner, 'USAGE') AS may FROM pg_catalog.pg_class c WHERE c.oid = '@read_words'::regclass`,
  );
  return row?.may === true;
}

/** Waits while another process fills the lists. */
async function requireLists(pool: PgPool, row: LedgerRow): Promise<LedgerRow> {
  const { schema, outageWaitMs } = pool.settings;
  let last = row;
  for (let sinceMs = performance.now(); last.fillAfter !== undefined;) {
    if (performance.now() - sinceMs > outageWaitMs)
      throw new QuittanceError(
        'config.invalid',
        `The lists of the ledger in the schema "${schema}" are not filled yet, and no process fills them. Run ` +
          '`quittance migrate` with a role that may create tables.',
      );
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const next = requireFormat(await readLedgerRow(pool), pool.settings);
    if (next.fillAfter !== last.fillAfter) sinceMs = performance.now();
    last = next;
  }
  return last;
}

async function readMayAppend(pool: PgPool): Promise<boolean> {
  const [row] = await pool.query<{ may: boolean }>(`SELECT has_table_privilege('@entries', 'INSERT') AS may`);
  return row?.may === true;
}

/** The first process with a key leaves its check; every other one must have the same key. */
async function checkSealKey(
  pool: PgPool,
  { ledgerId }: LedgerRow,
  sealKey: Uint8Array,
  mayAppend: boolean,
): Promise<void> {
  if (mayAppend)
    await pool.query('UPDATE @ledger SET key_check = $1 WHERE key_check IS NULL', [
      checkOfKeys(sealKey, ledgerId),
    ]);
  const [row] = await pool.query<{ key_check: string | null }>('SELECT key_check FROM @ledger');
  const check = row?.key_check ?? undefined;
  if (check === undefined || passKeyCheck(sealKey, ledgerId, check)) return;
  throw new QuittanceError(
    'config.invalid',
    'The processes of this ledger use another seal key than this one. Give every process the same key: set ' +
      'QUITTANCE_SEAL_KEY_FILE, QUITTANCE_SEAL_KEY or QUITTANCE_SEAL_KEY_COMMAND, or copy .quittance/seal.key from ' +
      'the host that opened the ledger first.',
  );
}

/**
 * Opens a PostgreSQL ledger as it is at one moment: all reads are statements of one repeatable-read transaction. Writers
 * are not blocked.
 */

export type LedgerSnapshot = {
  readonly ledger: OpenLedger;
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
    const ledger = await beginLedger(pool, { ...row, mayAppend: false }, { readOnly: true });
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
