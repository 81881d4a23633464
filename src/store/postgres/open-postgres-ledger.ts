import { QuittanceError } from '../../base/error.ts';
import { checkOfKeys, passKeyCheck } from '../../ledger/key-ring.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { LedgerRow } from './migrate.ts';
import { migrate, readLedgerRow, requireFormat } from './migrate.ts';
import { liftPositions } from './lift-positions.ts';
import { isBroken, PgPool } from './pg-pool.ts';
import { PostgresLedger } from './postgres-ledger.ts';
import type { PostgresLedgerOptions } from './postgres-ledger-options.ts';
import { readSettings } from './settings.ts';

const pauseMs = 50;

/**
 * Opens a ledger in PostgreSQL. Creates its tables if there are none and the role may do that. A connection that is lost
 * meanwhile is made again, as for appends: every step may be repeated. A server that never answered fails at once.
 */
export async function openPostgresLedger(url: string, options: PostgresLedgerOptions = {}): Promise<Ledger> {
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

async function openOn(pool: PgPool, options: PostgresLedgerOptions): Promise<Ledger> {
  try {
    const found = await readLedgerRow(pool);
    const mayMigrate = options.readOnly !== true && options.migrate !== false;
    const row = requireFormat(mayMigrate ? await upToDate(pool, found) : found, pool.settings);
    const mayAppend = options.readOnly !== true && (await readMayAppend(pool));
    if (options.sealKey !== undefined) await checkSealKey(pool, row, options.sealKey, mayAppend);
    if (mayAppend) await liftPositions(pool);
    const ledger = new PostgresLedger(pool, { ...row, mayAppend }, options);
    await ledger.owners.begin();
    return ledger;
  } catch (error) {
    await pool.close();
    throw error;
  }
}

const upToDate = async (pool: PgPool, found: LedgerRow | undefined): Promise<LedgerRow> => {
  try {
    return requireFormat(found, pool.settings);
  } catch {
    return migrate(pool);
  }
};

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
