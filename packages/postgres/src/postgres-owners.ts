/**
 * Which processes write to the ledger, and which of them live.
 *
 * An owner renews a lease by the clock of the database. It also holds a session lock on a direct connection of its own.
 * The lock proves that the process lives, even if the process is stopped and renews nothing. A free lock proves nothing: a
 * living process may have lost its connection. An owner is gone when its lock is free and its lease is over, or when it
 * said that it ended. Without a direct connection only the lease counts, also if a pooler was not mentioned in the
 * settings.
 *
 * Leases are renewed through a connection that nothing else uses: the direct one, or else one of its own. Slow reads must
 * not delay them. If that connection does not answer in time, the renewal goes through the pool. The owner replaces a
 * lost connection in the background, and renewals do not wait for the new one.
 *
 * An owner that others took for gone is fenced by the versions of its calls. An append that names an old version is
 * refused. The result of such a call is stored as late.
 */
import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import type { OwnerStatus } from 'quittance/internal/ledger/ledger';
import { newOwnerId } from 'quittance/internal/store/files/owner-id';
import type { ProcessMark } from 'quittance/internal/store/files/system-process';
import { readOwnProcess, readPlace, showProcessMark } from 'quittance/internal/store/files/system-process';
import type { PgConnection, PgSettings, PgValue } from './pg-driver.ts';
import { connect } from './pg-driver.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-values.ts';

/** Tells our session locks from those of others. */
const lockClass = 0x51554954;
/** A lease is renewed so many times before it would end. */
const renewalsPerLease = 5;
const shortestTimeoutMs = 1_000;

export type PostgresOwnersOptions = {
  readonly pool: PgPool;
  readonly readOnly: boolean;
  readonly onNotification: () => void;
  readonly onListening: (isListening: boolean) => void;
  readonly channel: string;
  /** Removes what else belongs to an owner that is gone. */
  readonly onForget: (ownerId: string) => void;
};

export class PostgresOwners {
  readonly ownerId: string = newOwnerId();
  readonly #options: PostgresOwnersOptions;
  readonly #lockKey: number;
  readonly #place = describePlace();
  /** Holds the lock and listens, where there is no pooler. */
  #connection: PgConnection | undefined;
  #connecting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #gone: readonly string[] = [];
  #hasLock = false;
  /** A pooler would keep our lock after we ended, and notifications would go to others. Only the lease counts then. */
  #isPooled = false;
  /** Milliseconds to add to `performance.now()` to get the clock of the database. The host's clock may jump. */
  #offsetMs = Date.now() - performance.now();
  #renewal: Promise<void> | undefined;
  #closed = false;

  constructor(options: PostgresOwnersOptions) {
    this.#options = options;
    this.#lockKey = Buffer.from(hash('sha256', this.ownerId, 'hex'), 'hex').readInt32BE(0);
  }

  /** The clock of the database. */
  now(): number {
    return Math.floor(performance.now() + this.#offsetMs);
  }

  /** Registers the owner. Appends may begin after this. */
  async begin(): Promise<void> {
    await this.#connect().catch((error: unknown) => {
      // The lease counts without the lock, and a timer looks without notifications. A standby takes no LISTEN.
      const { listenUrls } = this.#options.pool.settings;
      if (listenUrls === 'own' || listenUrls === 'off') return;
      throw listenError(error);
    });
    await this.#renew();
    this.#schedule();
  }

  async statusOf(ownerId: string): Promise<OwnerStatus> {
    if (ownerId === this.ownerId) return this.#closed || this.#options.readOnly ? 'gone' : 'alive';
    try {
      const [row] = await this.#options.pool.query<{ status: OwnerStatus }>(statusSql, [toPgText(ownerId)]);
      return row?.status ?? 'gone';
    } catch {
      return 'unknown';
    }
  }

  /** Owners that are proven dead and not forgotten, as of the last renewal. */
  get gone(): readonly string[] {
    return this.#gone;
  }

  async forget(ownerId: string): Promise<void> {
    if ((await this.statusOf(ownerId)) !== 'gone') return;
    this.#options.onForget(ownerId);
    const { pool } = this.#options;
    await pool.query('DELETE FROM @lanes WHERE starts_with(lane_id, $1)', [`${toPgText(ownerId)}/`]);
    await pool.query('DELETE FROM @owners WHERE owner_id = $1', [toPgText(ownerId)]);
    this.#gone = this.#gone.filter((other) => other !== ownerId);
  }

  /** Says that this owner ended. Its calls may be recovered from now on. */
  async end(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.allSettled([this.#renewal, this.#connecting]); // the server may be away
    if (!this.#options.readOnly)
      await this.#options.pool
        .query('UPDATE @owners SET ended = true WHERE owner_id = $1', [toPgText(this.ownerId)])
        .catch(() => undefined); // its lease will end
    await this.#connection?.end();
  }

  #schedule(): void {
    if (this.#closed) return;
    const { leaseMs } = this.#options.pool.settings;
    this.#timer = setTimeout(() => {
      void this.#renew()
        .catch(() => undefined) // the server is away: the next renewal tries again
        .then(() => this.#schedule());
    }, leaseMs / renewalsPerLease);
    this.#timer.unref();
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#renewOnce().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renewOnce(): Promise<void> {
    const { pool, readOnly } = this.#options;
    const askedAt = performance.now();
    const rows = await this.#ask<{ now: number; gone: string | null }>(readOnly ? lookSql : renewSql, [
      toPgText(this.ownerId),
      ...(readOnly ? [] : [this.#lockKey, this.#place, pool.settings.leaseMs]),
    ]);
    const answeredAt = performance.now();
    const [first] = rows;
    if (first !== undefined) this.#offsetMs = first.now - (askedAt + answeredAt) / 2;
    this.#gone = rows.flatMap(({ gone }) => (gone === null ? [] : [fromPgText(gone)]));
    // The lease counts without the lock: a lost connection is replaced while renewals go on.
    this.#connect().catch(() => undefined);
  }

  /** Through the connection of the owner, or else through the pool. */
  async #ask<Row>(text: string, values: readonly PgValue[]): Promise<readonly Row[]> {
    const { pool } = this.#options;
    const connection = this.#connection;
    if (connection?.isOpen === true)
      try {
        return await connection.query<Row>(pool.named(text), values);
      } catch {
        // It broke, does not answer, or takes no writes. The next renewal has another one.
        if (this.#connection === connection) this.#connection = undefined;
        void connection.end();
      }
    return pool.query<Row>(text, values);
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#connectOnce().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** One connection that renews, listens and holds the lock. All of these end with it and begin again with the next. */
  async #connectOnce(): Promise<void> {
    if (this.#closed) return;
    if (this.#connection?.isOpen !== true) this.#connection = await this.#open();
    if (this.#options.readOnly || this.#hasLock || !this.#isListening) return;
    // The server may not have noticed yet that an earlier connection ended. Then that one holds the lock.
    const [row] = await this.#connection.query<{ got: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS got',
      [lockClass, this.#lockKey],
    );
    this.#hasLock = row?.got === true;
  }

  get #isListening(): boolean {
    return this.#options.pool.settings.listenUrls !== 'off' && !this.#isPooled;
  }

  async #open(): Promise<PgConnection> {
    const { pool } = this.#options;
    const { listenUrls, leaseMs } = pool.settings;
    const own: PgSettings = {
      ...pool.settings,
      statementTimeoutMs: Math.max(shortestTimeoutMs, leaseMs / renewalsPerLease),
    };
    this.#hasLock = false;
    if (listenUrls !== 'off' && !this.#isPooled) {
      const listening = await this.#listen(listenUrls === 'own' ? own : { ...own, urls: listenUrls });
      if (listening !== undefined) return listening;
    }
    return connect(own);
  }

  /** Undefined behind a pooler. */
  async #listen(settings: PgSettings): Promise<PgConnection | undefined> {
    const { pool, channel, onNotification, onListening } = this.#options;
    const connection = await connect(settings);
    void connection.ended.then(() => onListening(false));
    connection.onNotification(onNotification);
    try {
      this.#isPooled = !(await connection.isDirect());
      if (this.#isPooled) {
        void connection.end();
        return undefined;
      }
      await connection.query(keepAliveSql);
      await connection.query(`LISTEN ${channel}`);
      if (pool.settings.listenUrls !== 'own') await this.#requireSameDatabase(connection);
    } catch (error) {
      void connection.end();
      throw error;
    }
    onListening(true);
    onNotification(); // for notifications that were sent while no connection listened
    return connection;
  }

  /** Locks and notifications stay in their database. In another one, no process would see ours. */
  async #requireSameDatabase(connection: PgConnection): Promise<void> {
    const [own] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const [seen] = await this.#options.pool.query(
      'SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND datname = current_database()',
      [own?.pid ?? 0],
    );
    if (seen !== undefined) return;
    throw new QuittanceError(
      'config.invalid',
      'The URL of the listening connection names another database than the URL of the ledger. Both must reach the same database.',
    );
  }
}

function listenError(error: unknown): QuittanceError {
  if (isQuittanceError(error)) return error;
  return new QuittanceError(
    'ledger.unavailable',
    `The listening connection to PostgreSQL could not be opened: ${(error as Error).message}. Check the URL of "listen".`,
    {},
    error,
  );
}

/** The host, and the process if the system lists processes: `web-1 4711 1089277`. */
function describePlace(): string {
  const own = readOwnProcess();
  return own === undefined ? hostname() : `${hostname()} ${showProcessMark(own)}`;
}

/** The processes of this machine that own calls of the ledger. Undefined for one whose note cannot be read. */
export async function readLeaseProcesses(pool: PgPool): Promise<readonly (ProcessMark | undefined)[]> {
  const rows = await pool.read<{ host: string }>(`SELECT o.host FROM @owners o WHERE NOT ${isGone}`);
  const own = readOwnProcess();
  return rows.map(({ host }) => readPlace(host, own)).filter((place) => place !== 'elsewhere');
}

/** The server frees the lock of a host that vanished without a word after about 25 seconds. */
const keepAliveSql = `SELECT set_config('tcp_keepalives_idle', '10', false),
  set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false)`;

const isLocked = `EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.classid::bigint = ${lockClass} AND l.objid::bigint = (o.lock_key & 4294967295) AND l.objsubid = 2)`;
const isGone = `(o.ended OR (o.renewed_at + o.lease_ms * interval '1 millisecond' < clock_timestamp() AND NOT ${isLocked}))`;

const statusSql = `SELECT CASE WHEN ${isGone} THEN 'gone' ELSE 'alive' END AS status FROM @owners o WHERE o.owner_id = $1`;
const gone = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now, o.owner_id AS gone
  FROM (SELECT 1) one LEFT JOIN @owners o ON o.owner_id <> $1 AND ${isGone}`;
const lookSql = gone;
const renewSql = `WITH renewed AS (
  INSERT INTO @owners AS o (owner_id, lock_key, host, renewed_at, lease_ms) VALUES ($1, $2, $3, clock_timestamp(), $4)
  ON CONFLICT (owner_id) DO UPDATE SET renewed_at = clock_timestamp() RETURNING 1) ${gone}`;
