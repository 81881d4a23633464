import { isQuittanceError, ownRemedy } from 'quittance/internal/base/error';
import { showLedgerUrl } from 'quittance/internal/store/ledger-url';
import { readLedgerRow, readMigrationState } from '@quittance/postgres/internal/migrate';
import { PgPool } from '@quittance/postgres/internal/pg-pool';
import { passKeyCheck } from 'quittance/internal/ledger/seal';
import { readSettings, splitHosts, withPgEnvironment } from '@quittance/postgres/internal/settings';
import type { Finding } from './finding.ts';
import { fine, problem, warning } from './finding.ts';

/** The settings of the server that the promises of the ledger depend on. */
type ServerSettings = Readonly<
  Record<
    | 'version'
    | 'fsync'
    | 'full_page_writes'
    | 'synchronous_commit'
    | 'wal_level'
    | 'autovacuum'
    | 'max_connections'
    | 'statement_timeout'
    | 'encoding'
    | 'lock_timeout'
    | 'idle_session_timeout',
    string
  > & {
    readonly connections: number;
    readonly tls: boolean | null;
    readonly is_standby: boolean;
    readonly is_read_only: boolean;
    readonly is_socket: boolean;
    readonly is_superuser: boolean;
    readonly user: string;
  }
>;

const settingsSql = `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes, current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('wal_level') AS wal_level, current_setting('autovacuum') AS autovacuum,
  current_setting('max_connections') AS max_connections,
  current_setting('statement_timeout') AS statement_timeout, current_setting('server_encoding') AS encoding,
  pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only,
  inet_client_addr() IS NULL AS is_socket,
  current_setting('lock_timeout') AS lock_timeout,
  coalesce(current_setting('idle_session_timeout', true), '0') AS idle_session_timeout,
  (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS tls,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser, current_user AS user`;

/** `env` completes the URL, as it does when a ledger is opened. */
export async function* checkPostgres(
  given: string,
  sealKey: Uint8Array | undefined,
  env: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<Finding> {
  const url = withPgEnvironment(given, env);
  const settings = { ...readSettings(url, {}), readers: 2, outageWaitMs: 0 };
  const pool = new PgPool(settings);
  try {
    const [found] = await pool.query<ServerSettings>(settingsSql);
    if (found === undefined) return;
    yield* checkServer(found);
    yield* checkAccess(found, url, env['PGHOST'] ?? '');
    yield await checkPooler(url);
    yield* checkSchema(pool, sealKey);
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    yield problem(
      'postgres',
      `${showLedgerUrl(url)}: ${error.message}`,
      `${ownRemedy(error) ?? 'Check that the server runs, and the host, user, password and database of the URL.'} Then try: psql "$QUITTANCE_LEDGER"`,
    );
  } finally {
    await pool.close();
  }
}

function* checkServer(found: ServerSettings): Generator<Finding> {
  const major = Number.parseInt(found.version, 10);
  if (major < 14)
    yield problem(
      'postgres',
      `PostgreSQL ${found.version} is too old.`,
      'Upgrade the server to version 14 or newer.',
    );
  else yield fine('postgres', `PostgreSQL ${found.version}`);
  yield* checkDatabase(found);
  const off = (name: 'fsync' | 'full_page_writes', why: string): Finding[] =>
    found[name] === 'off'
      ? [
          problem(
            'durability',
            `${name} is off: ${why}`,
            `ALTER SYSTEM SET ${name} = on; then restart the server.`,
          ),
        ]
      : [];
  yield* off('fsync', 'a crash of the machine loses or damages the ledger, and calls may run twice.');
  yield* off('full_page_writes', 'a power loss can damage pages.');
  if (found.synchronous_commit === 'off')
    yield problem(
      'durability',
      'synchronous_commit is off: a crash loses the last commits, although callers got their outcomes.',
      `ALTER ROLE ${found.user} SET synchronous_commit = on; then restart the processes.`,
    );
  else if (found.fsync === 'on') yield fine('durability', `synchronous_commit ${found.synchronous_commit}`);
  if (found.wal_level === 'minimal')
    yield warning(
      'replication',
      'wal_level is minimal: the server can have no standby and no continuous archive.',
      'ALTER SYSTEM SET wal_level = replica; then restart the server.',
    );
  if (found.autovacuum === 'off')
    yield warning(
      'vacuum',
      'autovacuum is off: tables grow without limit.',
      'ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();',
    );
  const most = Number(found.max_connections);
  if (found.connections > most * 0.8)
    yield warning(
      'connections',
      `${found.connections} of ${most} connections are in use. A process of Quittance needs 7.`,
      'Raise max_connections, use fewer connections (?readers=2&writers=1), or a pooler.',
    );
  else yield fine('connections', `${found.connections} of ${most}`);
  yield* checkTimeouts(found);
}

function* checkDatabase({ encoding, is_standby, is_read_only, user }: ServerSettings): Generator<Finding> {
  if (encoding !== 'UTF8')
    yield problem(
      'encoding',
      `The database has the encoding ${encoding}: results with other characters cannot be stored.`,
      `Copy the ledger to a database with ENCODING 'UTF8': quittance copy`,
    );
  if (is_standby)
    yield warning(
      'writes',
      'The server is a standby: commands can read, but no process can make calls.',
      'Give the processes the URL of the primary, or of all servers: postgres://user@one,two/database',
    );
  else if (is_read_only)
    yield problem(
      'writes',
      'Transactions are read-only, so no process can make calls (default_transaction_read_only).',
      `ALTER ROLE ${user} SET default_transaction_read_only = off;`,
    );
}

function* checkTimeouts({
  statement_timeout,
  lock_timeout,
  idle_session_timeout,
  user,
}: ServerSettings): Generator<Finding> {
  const short = (value: string): boolean => {
    const ms = toMs(value);
    return ms > 0 && ms < 10_000;
  };
  for (const [name, value] of [
    ['statement_timeout', statement_timeout],
    ['lock_timeout', lock_timeout],
  ] as const)
    if (short(value))
      yield warning(
        'timeouts',
        `${name} of the role is ${value}. Appends under load may be cancelled.`,
        `ALTER ROLE ${user} SET ${name} = 0;`,
      );
  if (toMs(idle_session_timeout) > 0)
    yield warning(
      'timeouts',
      `idle_session_timeout is ${idle_session_timeout}: the server ends the connection that proves that a process lives.`,
      `ALTER ROLE ${user} SET idle_session_timeout = 0;`,
    );
}

/** A value such as `5s`, `500ms` or `0`. */
function toMs(value: string): number {
  const [, count = '0', unit = 'ms'] = /^(\d+)\s*(ms|s|min|h|d)?$/.exec(value) ?? [];
  const units: Readonly<Record<string, number>> = {
    ms: 1,
    s: 1_000,
    min: 60_000,
    h: 3_600_000,
    d: 86_400_000,
  };
  return Number(count) * (units[unit] ?? 1);
}

function* checkAccess(
  { tls, is_superuser, is_socket, user }: ServerSettings,
  url: string,
  envHost: string,
): Generator<Finding> {
  const { hostname, searchParams } = new URL(splitHosts(url)[0]);
  const host = searchParams.get('host') ?? (hostname || envHost);
  const isLocal = is_socket || /^(?:|localhost|127\.[\d.]+|\[?::1\]?)$/.test(host);
  if (tls !== true && !isLocal)
    yield problem(
      'tls',
      `The connection to ${host} is not encrypted: others on the network can read and change it.`,
      'Add ?sslmode=verify-full to the URL, and enable ssl on the server.',
    );
  else if (searchParams.get('sslmode') === 'no-verify')
    yield warning(
      'tls',
      'The certificate of the server is not checked (sslmode=no-verify).',
      'Use ?sslmode=verify-full, with sslrootcert if the authority is your own.',
    );
  else yield fine('tls', tls === true ? 'encrypted' : 'local connection');
  if (is_superuser)
    yield warning(
      'role',
      `The role ${user} is a superuser: every process could change the ledger and the server.`,
      'Use a separate role: quittance migrate --roles, then GRANT quittance_writer TO app;',
    );
}

/** Two connections of ours with the same process of the server: a pooler shares it between transactions. */
async function checkPooler(url: string): Promise<Finding> {
  const pools = [0, 1].map(() => new PgPool({ ...readSettings(url, {}), readers: 1, outageWaitMs: 0 }));
  try {
    const pids: (number | undefined)[] = [];
    for (const pool of pools) {
      const [row] = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      pids.push(row?.pid);
    }
    if (new Set(pids).size === pools.length) return fine('pooler', 'none, or one that keeps sessions');
    if (/[?&]listen=/.test(url))
      return fine('pooler', 'transaction pooling, with its own address for the session lock');
    return warning(
      'pooler',
      'A pooler shares connections between transactions, so the session lock of a process does not work: only its lease does.',
      'Give the direct address of the server for it: ?listen=postgres://user@direct-host/database, or ?listen=off',
    );
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
  }
}

async function* checkSchema(pool: PgPool, sealKey: Uint8Array | undefined): AsyncGenerator<Finding> {
  const { schema } = pool.settings;
  const { found, wanted, isFilled } = await readMigrationState(pool);
  if (found === 0) {
    yield problem('schema', `The schema ${schema} has no ledger.`, 'Create its tables: quittance migrate');
    return;
  }
  if (found < wanted)
    yield problem(
      'schema',
      `The tables have version ${found}, and this program needs ${wanted}.`,
      'Upgrade them: quittance migrate',
    );
  else if (!isFilled)
    yield problem(
      'schema',
      'The lists are not filled from the entries yet, so the ledger cannot be opened.',
      'Fill them: quittance migrate',
    );
  else yield fine('schema', `${schema}, version ${found}`);
  const [rights] = await pool.query<{ append: boolean; remove: boolean }>(
    `SELECT has_table_privilege('@entries', 'INSERT') AS append, has_table_privilege('@entries', 'DELETE') AS remove`,
  );
  yield rights?.append === true
    ? fine('rights', rights.remove ? 'may append and remove' : 'may append')
    : warning(
        'rights',
        'This role cannot add entries: it can look, and perhaps decide, but no process can make calls with it.',
        'GRANT quittance_writer TO the role of your processes.',
      );
  const row = await readLedgerRow(pool);
  if (row?.keyCheck === null || row === undefined) return;
  if (sealKey === undefined)
    yield warning(
      'seal key',
      'This process has no seal key, so it could open no hidden input.',
      'Set QUITTANCE_SEAL_KEY_FILE to the key of the other processes.',
    );
  else if (passKeyCheck(sealKey, row.ledgerId, row.keyCheck))
    yield fine('seal key', 'the key of this ledger');
  else
    yield problem(
      'seal key',
      'The other processes of this ledger use another seal key.',
      'Give every process the same key. If it is lost: quittance rotate-key --lost',
    );
}
