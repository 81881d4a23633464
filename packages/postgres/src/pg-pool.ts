/** A few connections for reads and for transactions outside the lanes. A statement waits until one of them is free. */
import { endSentence } from 'quittance/internal/base/end-sentence';
import { isQuittanceError, QuittanceError, withRemedy } from 'quittance/internal/base/error';
import { closedError } from 'quittance/internal/ledger/prepare-entry';
import type { PgConnection, PgValue } from './pg-driver.ts';
import {
  connect,
  damagedState,
  isConflict,
  isRefusal,
  isRetryable,
  lowState,
  readOnlyState,
  sqlStateOf,
} from './pg-driver.ts';
import type { PostgresSettings } from './settings.ts';
import { quoteSchema } from './settings.ts';
import { toTextArray } from './pg-values.ts';

export type PgQuery = <Row>(text: string, values?: readonly PgValue[]) => Promise<readonly Row[]>;

type Waiting = {
  readonly resolve: (connection: PgConnection) => void;
  readonly reject: (error: unknown) => void;
};

/** Statements waiting beyond this number are refused: a server that slow needs help, not a longer queue. */
const mostWaiting = 10_000;
const mostTries = 5;
const mostQueryTries = 20;
const pauseMs = 50;
const longestStatementMs = 3_600_000;

/** Our locks assume that each statement sees what was committed before it, whatever the database is set to. */
const beginSql = 'BEGIN ISOLATION LEVEL READ COMMITTED';

export class PgPool {
  readonly settings: PostgresSettings;
  readonly #free: PgConnection[] = [];
  readonly #connections = new Set<PgConnection>();
  readonly #waiting: Waiting[] = [];
  readonly #texts = new Map<string, string>();
  #open = 0;
  /** Has the server ever answered? Then a failed connection is a lost one. */
  hasConnected = false;
  /** Since when no reader got an answer. */
  #failingSinceMs: number | undefined;
  #closed = false;

  constructor(settings: PostgresSettings) {
    this.settings = settings;
  }

  /** Runs one statement. `@name` in it is a table or function of the ledger's schema. */
  async query<Row>(text: string, values: readonly PgValue[] = []): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++)
      try {
        return await this.#with((connection) => connection.query<Row>(this.named(text), values));
      } catch (error) {
        if (!isConflict((error as Error).cause) || tries === mostQueryTries) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(tries * tries, pauseMs)));
      }
  }

  /** The same for a statement that changes nothing. */
  async read<Row>(text: string, values: readonly PgValue[] = []): Promise<readonly Row[]> {
    return this.repeat(text, values);
  }

  /** The same for a statement that may take effect twice: runs it again where the connection broke. */
  async repeat<Row>(text: string, values: readonly PgValue[] = []): Promise<readonly Row[]> {
    const untilMs = performance.now() + this.settings.outageWaitMs;
    for (;;)
      try {
        const rows = await this.query<Row>(text, values);
        this.#failingSinceMs = undefined;
        return rows;
      } catch (error) {
        const nowMs = performance.now();
        this.#failingSinceMs ??= nowMs;
        // In a long outage no reader waits: one attempt must do.
        const isLong = nowMs - this.#failingSinceMs > this.settings.outageWaitMs;
        if (isLong || nowMs > untilMs || !isBroken((error as Error).cause)) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
  }

  /** Runs statements in one transaction. Runs it again where the server asks for that. */
  async transaction<Result>(work: (query: PgQuery) => Promise<Result>): Promise<Result> {
    return again(() => this.#with((connection) => this.#inTransaction(connection, work)));
  }

  /**
   * The same for work on the whole ledger, on a connection of its own. Its statements may take minutes. It may wait for a
   * slow source between two of them. So the time limits of the database do not apply to it.
   */
  longTransaction<Result>(work: (query: PgQuery) => Promise<Result>): Promise<Result> {
    return this.#longTransaction(work, beginSql);
  }

  /** The same for statements that only read, as of one moment. */
  snapshot<Result>(work: (query: PgQuery) => Promise<Result>): Promise<Result> {
    return this.#longTransaction(work, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  }

  async #longTransaction<Result>(work: (query: PgQuery) => Promise<Result>, begin: string): Promise<Result> {
    return again(async () => {
      try {
        const connection = await connect({ ...this.settings, statementTimeoutMs: longestStatementMs });
        try {
          return await this.#inTransaction(
            connection,
            async (query) => {
              await query(withoutTimeoutsSql);
              return work(query);
            },
            begin,
          );
        } finally {
          await connection.end();
        }
      } catch (error) {
        throw toUnavailable(error);
      }
    });
  }

  named(text: string): string {
    let named = this.#texts.get(text);
    if (named === undefined) {
      // `@@` is an operator.
      named = text.replaceAll(/(?<!@)@(?=[a-z])/g, `${quoteSchema(this.settings.schema)}.`);
      this.#texts.set(text, named);
    }
    return named;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
    await Promise.all(this.#free.splice(0).map((connection) => connection.end()));
  }

  async #inTransaction<Result>(
    connection: PgConnection,
    work: (query: PgQuery) => Promise<Result>,
    begin = beginSql,
  ): Promise<Result> {
    await connection.query(begin);
    try {
      const result = await work((text, values) => connection.query(this.named(text), values));
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      if (connection.isOpen) await connection.query('ROLLBACK').catch(() => connection.end());
      throw error;
    }
  }

  async #with<Result>(work: (connection: PgConnection) => Promise<Result>): Promise<Result> {
    try {
      const connection = await this.#take();
      try {
        return await work(connection);
      } catch (error) {
        // After anything but a refusal the state of the connection is unknown.
        if (!isRefusal(error) && !isQuittanceError(error)) void connection.end();
        else if (sqlStateOf(error) === readOnlyState && !this.settings.readOnly) this.#leaveServer();
        throw error;
      } finally {
        this.#giveBack(connection);
      }
    } catch (error) {
      throw toUnavailable(error);
    }
  }

  /**
   * The server takes no writes: it became a standby, or its database was set to read only. Connections would stay so, and
   * those to a standby read old rows. All of them are replaced.
   */
  #leaveServer(): void {
    for (const connection of this.#connections) void connection.end();
  }

  async #take(): Promise<PgConnection> {
    if (this.#closed) throw closedError();
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      if (free.isOpen) return free;
      this.#open--;
    }
    if (this.#open < this.settings.readers) {
      this.#open++;
      try {
        const connection = await connect(this.settings);
        this.hasConnected = true;
        this.#connections.add(connection);
        void connection.ended.then(() => this.#connections.delete(connection));
        return connection;
      } catch (error) {
        this.#open--;
        // No connection is left that could be given back to those who wait.
        if (this.#open === 0) for (const { reject } of this.#waiting.splice(0)) reject(error);
        throw error;
      }
    }
    if (this.#waiting.length >= mostWaiting) throw saturatedError();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #giveBack(connection: PgConnection): void {
    if (this.#closed) {
      void connection.end();
      return;
    }
    if (connection.isOpen) {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(connection);
      else next.resolve(connection);
      return;
    }
    this.#open--;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#take().then(next.resolve, next.reject);
  }
}

async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++)
    try {
      return await work();
    } catch (error) {
      if (!isRetryable((error as Error).cause ?? error) || tries === mostTries) throw error;
    }
}

/** One of these settings does not exist in older versions. */
const withoutTimeoutsSql = `SELECT set_config(name, '0', true) FROM pg_catalog.pg_settings
  WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** Did the connection break, or could none be made? Errors of ours have no such cause. */
export const isBroken = (cause: unknown): boolean =>
  cause instanceof Error && !isQuittanceError(cause) && (!isRefusal(cause) || sqlStateOf(cause) === '53300');

export const saturatedError = (): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    'Too many statements wait for the PostgreSQL server. Nothing was written. Send fewer calls at once, or give the server more room.',
  );

/** A value is out of range or of another kind, one row is there twice, or a column is missing. */
const changedStates: ReadonlySet<string> = new Set(['22003', '22P02', '21000', '42703']);

/** What every failure of the server or of the way to it becomes for a caller. */
export function toUnavailable(error: unknown): QuittanceError {
  if (isQuittanceError(error)) return error;
  const state = sqlStateOf(error);
  const said = (error as Error).message;
  if (state === '42P01' || state === '42883' || state === '3F000')
    return new QuittanceError(
      'config.invalid',
      `The database has no Quittance tables of this version: ${said}. Run \`quittance migrate\` with a role that may create them.`,
      {},
      error,
    );
  if (state === lowState)
    return new QuittanceError(
      'ledger.unavailable',
      'Nothing was written: the ledger came from another server, and no process that makes calls has opened it here. ' +
        'Open it once with the role of the writers, then try again.',
      { sqlState: lowState },
      error,
    );
  if (state === damagedState)
    return new QuittanceError(
      'ledger.damaged',
      `Nothing was appended: ${said}. Another program changed the tables of the ledger. Run \`quittance verify\` to see ` +
        'what else was changed, and `quittance rebuild` to make the tables again from the entries.',
      {},
      error,
    );
  if (changedStates.has(state ?? '') || error instanceof TypeError)
    return new QuittanceError(
      'ledger.damaged',
      `The tables of the ledger hold what no version of this program writes: ${said.replace(/\.$/, '')}. Another ` +
        'program changed them. Run `quittance verify` to see where, and restore a backup if `quittance rebuild` does not help.',
      {},
      error,
    );
  return withRemedy(
    new QuittanceError(
      'ledger.unavailable',
      endSentence(`The PostgreSQL server could not be used: ${said}`),
      state === undefined ? {} : { sqlState: state },
      error,
    ),
    adviceFor(error),
  );
}

/** What to do about a failure of a PostgreSQL server or of the way to it. For developers: no model reads it. */

/** By the code that PostgreSQL gave, or by its first two characters. */
const byState: Readonly<Record<string, string>> = {
  '28': 'Check the user and the password: in the URL, in PGUSER and PGPASSWORD, or in the password file.',
  '3D000': 'Create the database, or correct its name in the URL.',
  '25006':
    'The server takes no writes. Use the URL of the primary, or of all servers. If the database was set to read only, ' +
    'see `SHOW default_transaction_read_only`.',
  '42501':
    'Give the role of the URL its rights: run the script of `quittance migrate --roles`, then grant it one of these roles.',
  '53100': 'Free space on the disk of the server. Calls go on by themselves then.',
  '53200': 'The server has too little memory. Give it more, or lower max_connections or work_mem.',
  '53300':
    'Raise max_connections of the server or the limit of the role, use fewer connections, or a pooler.',
  '55P03': 'Another transaction holds a lock. Look for it in pg_stat_activity, or raise lock_timeout.',
  '57014': 'Raise statement_timeout of the role, or see in pg_stat_activity what slows the server down.',
  '57P': 'The server stops or starts. Try again when it runs.',
  '40': 'Transactions got in the way of each other too often. Try again.',
};

/** By the code that Node gave. */
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start the server, or correct the host and the port of the URL.',
  ENOENT: 'Start the server, or correct the folder of its socket in the URL.',
  ENOTFOUND: 'Correct the host of the URL.',
  EAI_AGAIN: 'The name of the host could not be looked up. Check the network of this machine.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host. Use the name that it has in the URL.',
  CERT_HAS_EXPIRED: 'Renew the certificate of the server.',
};

/** By the words of the driver, which gives no code. */
const byWords: readonly (readonly [RegExp, string])[] = [
  [
    /self.signed certificate|unable to verify|unable to get (?:local )?issuer/i,
    'Name the certificate of its authority with sslrootcert in the URL, or with PGSSLROOTCERT.',
  ],
  [/does not support SSL/i, 'Turn TLS on in the server, or write sslmode=disable in the URL.'],
  [
    /password must be a string/i,
    'The server asks for a password: give one in the URL, in PGPASSWORD or in the password file.',
  ],
  [/is a standby/i, 'No server of the URL takes writes. Promote one, or correct the hosts.'],
  [/query read timeout/i, 'The server did not answer in time. See in pg_stat_activity what it waits for.'],
  [
    /timeout|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/i,
    'Check the network and the firewall between this machine and the server.',
  ],
  [
    /terminated unexpectedly|ECONNRESET|EPIPE/i,
    'Check that a PostgreSQL server listens there, and what its log says.',
  ],
];

export function adviceFor(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== undefined)
    return (
      byState[state] ??
      byState[state.slice(0, 3)] ??
      byState[state.slice(0, 2)] ??
      'See the log of the server.'
    );
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string };
  return (
    byCode[code] ??
    byWords.find(([words]) => words.test(`${code} ${message}`))?.[1] ??
    'Check the URL of the ledger, and the log of the server.'
  );
}

/**
 * Look-ups that share round trips. Keys of the same turn of the event loop become one statement with an array per
 * column. So do keys that arrive while earlier statements run.
 */

/** The columns of a key, in the order of the parameters. */
export type Key = readonly string[];
/** Rows say with `ord` to which key they belong, counted from 1. */
export type OrdRow = { readonly ord: number };

type Asked<Row> = {
  readonly key: Key;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
};

const mostInStatement = 256;
const mostStatements = 2;
const mostQueued = 50_000;

export class GatheredRead<Row extends OrdRow> {
  readonly #pool: PgPool;
  readonly #sql: string;
  #queue: Asked<Row>[] = [];
  #running = 0;
  #isScheduled = false;

  /** `sql` joins `unnest($1::text[], …) WITH ORDINALITY x(…, o)`. */
  constructor(pool: PgPool, sql: string) {
    this.#pool = pool;
    this.#sql = sql;
  }

  /** The rows of one key, in the order of the statement. */
  read(key: Key): Promise<readonly Row[]> {
    if (this.#pool.isClosed) return Promise.reject(closedError());
    if (this.#queue.length >= mostQueued) return Promise.reject(saturatedError());
    return new Promise((resolve, reject) => {
      this.#queue.push({ key, resolve, reject });
      if (this.#isScheduled || this.#running >= mostStatements) return;
      this.#isScheduled = true;
      queueMicrotask(() => {
        this.#isScheduled = false;
        this.#next();
      });
    });
  }

  #next(): void {
    while (this.#queue.length > 0 && this.#running < mostStatements) {
      const asked =
        this.#queue.length <= mostInStatement ? this.#queue : this.#queue.slice(0, mostInStatement);
      this.#queue = asked === this.#queue ? [] : this.#queue.slice(mostInStatement);
      this.#running++;
      void this.#send(asked).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #send(asked: readonly Asked<Row>[]): Promise<void> {
    try {
      const columns = (asked[0]?.key ?? []).map((_, n) => toTextArray(asked.map(({ key }) => key[n] ?? '')));
      const rows = await this.#pool.read<Row>(this.#sql, columns);
      const found: Row[][] = asked.map(() => []);
      for (const row of rows) found[row.ord - 1]?.push(row);
      for (const [index, { resolve }] of asked.entries()) resolve(found[index] ?? []);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
