/**
 * One connection that appends, with a queue. What comes in while a batch is under way becomes the next batch, so that
 * concurrent appends share a round trip and a commit.
 *
 * A connection that breaks while a batch is under way leaves its entries in question. The next connection first raises
 * the epoch of the lane, which waits for the transaction of the old one and keeps it from beginning another. Then it
 * looks for each entry: entries that were kept are answered, the others are sent again.
 */
import { hash } from 'node:crypto';
import { genesisHash } from 'quittance/internal/ledger/chain';
import { isQuittanceError } from 'quittance/internal/base/error';
import { closedError } from 'quittance/internal/ledger/prepare-entry';
import type { AppendItem, AnswerRow, Appended } from './append-item.ts';
import { readAnswers, toAppendResult } from './append-item.ts';
import {
  toTextArray,
  headerBytes,
  int4Oid,
  nullLength,
  textOid,
  writeHeader,
  fromPgText,
} from './pg-values.ts';
import type { PgConnection } from './pg-driver.ts';
import {
  connect,
  fencedState,
  isOtherConnection,
  isRefusal,
  isRetryable,
  lowState,
  newSessionState,
  readOnlyState,
  sqlStateOf,
} from './pg-driver.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { saturatedError, toUnavailable } from './pg-pool.ts';
import { isLowSql, liftPositions } from './positions.ts';
import { readLedgerRow, requireFormat } from './migrate.ts';
import { ownNames, refuseChangedSchema } from './schema-check.ts';

type Job = {
  readonly item: AppendItem;
  readonly sinceMs: number;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
  /** Sent through a connection that broke before it answered. */
  isInQuestion: boolean;
};

const mostInBatch = 256;
/** A larger batch takes so long that its statement would time out. A larger entry is sent alone. */
const mostCharsInBatch = 4_000_000;
const mostKnown = 100_000;
const pauseMs = 50;
const shortestTimeoutMs = 1_000;
/** The server asks for another try this often without a pause. */
const quickTries = 3;

export class AppendLane {
  readonly #pool: PgPool;
  readonly #guard: SchemaGuard;
  readonly #laneId: string;
  readonly #onCommit: (last: number) => void;
  readonly #queue: Job[] = [];
  /** Sessions that have a head. */
  readonly #known = new Set<string>();
  readonly #columns = new ColumnWriter();
  #connection: PgConnection | undefined;
  #epoch = 0;
  /** Since when nothing was written, although there was something to write. */
  #failingSinceMs: number | undefined;
  #work: Promise<void> | undefined;
  #closed = false;
  readonly #appendSql: string;
  readonly #mayLift: boolean;
  /** Undefined behind a pooler: its connections do not all have the statement. */
  #statement: string | undefined;

  constructor(
    pool: PgPool,
    guard: SchemaGuard,
    laneId: string,
    onCommit: (last: number) => void,
    appendFunction: AppendFunction = 'append_v3',
  ) {
    this.#pool = pool;
    this.#guard = guard;
    this.#appendSql = pool.named(toAppendSql(appendFunction));
    // The name stands for exactly this text, also on a connection that others use.
    const digest = hash('sha256', this.#appendSql).slice(0, 24);
    if (pool.settings.listenUrls === 'own') this.#statement = `quittance_${appendFunction}_${digest}`;
    this.#mayLift = appendFunction === 'append_v3';
    this.#laneId = laneId;
    this.#onCommit = onCommit;
  }

  append(item: AppendItem): Promise<Appended> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#queue.length >= this.#pool.settings.maxQueued) return Promise.reject(saturatedError());
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, sinceMs: performance.now(), resolve, reject, isInQuestion: false });
      this.#work ??= this.#run();
    });
  }

  /** Writes what was queued, then ends the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#work !== undefined) await this.#work;
    await this.#connection
      ?.query(this.#pool.named('DELETE FROM @lanes WHERE lane_id = $1'), [this.#laneId])
      .catch(
        () => undefined, // a row that is left over does no harm
      );
    await this.#connection?.end();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // appends of the same moment share a batch
    while (this.#queue.length > 0) await this.#sendBatch(this.#queue.splice(0, this.#countNext()));
    this.#work = undefined;
  }

  /** How many of the queued appends fit into the next batch. */
  #countNext(): number {
    let chars = 0;
    const most = Math.min(this.#queue.length, mostInBatch);
    for (let count = 0; count < most; count++) {
      chars += sizeOf(this.#queue[count]?.item);
      if (chars > mostCharsInBatch) return Math.max(count, 1);
    }
    return most;
  }

  async #sendBatch(batch: readonly Job[]): Promise<void> {
    let jobs = batch;
    for (let tries = 1; jobs.length > 0; tries++)
      try {
        const connection = await this.#connected();
        jobs = await this.#settleQuestions(connection, jobs);
        if (jobs.length > 0) await this.#send(connection, jobs);
        return;
      } catch (error) {
        jobs = await this.#afterFailure(error, jobs, tries);
      }
  }

  /** Gives the jobs to try again. */
  async #afterFailure(error: unknown, jobs: readonly Job[], tries: number): Promise<readonly Job[]> {
    if (sqlStateOf(error) === newSessionState) {
      for (const { item } of jobs) this.#known.delete(item.session);
      return jobs;
    }
    if (isOtherConnection(error) && this.#statement !== undefined) {
      this.#statement = undefined;
      return jobs;
    }
    if (sqlStateOf(error) === changedSchemaState) {
      if (tries > quickTries) await pause(pauseMs);
      try {
        await this.#guard.renew();
      } catch (why) {
        return isQuittanceError(why, 'ledger.unavailable')
          ? this.#stillPatient(why, jobs)
          : rejectAll(why, jobs);
      }
      return this.#stillPatient(error, jobs);
    }
    // A role that may only decide cannot lift them.
    if (sqlStateOf(error) === lowState && this.#mayLift) {
      const failure = await liftPositions(this.#pool).then(
        () => error,
        (why: unknown) => why,
      );
      return this.#stillPatient(failure, jobs);
    }
    if (isRetryable(error)) {
      if (tries > quickTries) await pause(Math.random() * Math.min(tries, pauseMs));
      return this.#stillPatient(error, jobs);
    }
    const wasOpen = this.#connection !== undefined;
    // Waiting gives a role no rights, and a database no tables.
    if (!wasOpen && /^(42|3F)/.test(sqlStateOf(error) ?? '')) return rejectAll(error, jobs);
    // Another connection may reach a server that takes writes. Nothing was written through this one.
    if (wasOpen && sqlStateOf(error) === readOnlyState) {
      void this.#connection?.end();
      this.#connection = undefined;
      return this.#stillPatient(error, jobs);
    }
    if (wasOpen && isRefusal(error) && sqlStateOf(error) !== fencedState)
      return this.#splitRefused(error, jobs);
    void this.#connection?.end();
    this.#connection = undefined;
    if (wasOpen) for (const job of jobs) job.isInQuestion = true;
    const patient = this.#stillPatient(error, jobs);
    if (patient.length > 0 && !wasOpen) await pause(pauseMs);
    return patient;
  }

  /**
   * Answers jobs that waited long enough that the ledger is unavailable. Gives the others. In a long outage no job waits:
   * one attempt must do.
   */
  #stillPatient(error: unknown, jobs: readonly Job[]): readonly Job[] {
    const nowMs = performance.now();
    const { outageWaitMs } = this.#pool.settings;
    this.#failingSinceMs ??= nowMs;
    const sinceMs = nowMs - this.#failingSinceMs > outageWaitMs ? Infinity : nowMs - outageWaitMs;
    const patient = jobs.filter((job) => job.sinceMs >= sinceMs);
    for (const job of jobs) if (job.sinceMs < sinceMs) job.reject(toUnavailable(error));
    return patient;
  }

  /** One entry that the server cannot take must not fail the others of its batch. */
  async #splitRefused(error: unknown, jobs: readonly Job[]): Promise<readonly Job[]> {
    if (jobs.length === 1 || isAboutServer(error)) return rejectAll(error, jobs);
    for (const job of jobs) await this.#sendBatch([job]);
    return [];
  }

  async #connected(): Promise<PgConnection> {
    if (this.#connection?.isOpen === true) return this.#connection;
    this.#connection = undefined;
    const { settings } = this.#pool;
    const connection = await connect({
      ...settings,
      statementTimeoutMs: Math.max(shortestTimeoutMs, settings.outageWaitMs),
    });
    try {
      const [row] = await connection.query<{ epoch: number; low: boolean }>(this.#pool.named(nextEpochSql), [
        this.#laneId,
      ]);
      this.#epoch = row?.epoch ?? 0;
      if (row?.low === true && this.#mayLift) await liftPositions(this.#pool);
    } catch (error) {
      void connection.end();
      throw error;
    }
    this.#connection = connection;
    return connection;
  }

  async #send(connection: PgConnection, jobs: readonly Job[]): Promise<void> {
    const items = jobs.map(({ item }) => item);
    const sessions = [...new Set(items.map(({ session }) => session))];
    const hasNew = sessions.some((session) => !this.#known.has(session));
    const counters = items.flatMap((item) => item.counters);
    const columns = this.#columns;
    columns.beginBatch();
    const answers = await connection.query<AnswerRow>(
      this.#appendSql,
      [
        this.#laneId,
        this.#epoch,
        columns.texts(sessions, (session) => session),
        // Another process may have removed a head that this one knows: then it begins again like the new ones.
        columns.texts(hasNew ? sessions : [], (session) => genesisHash(fromPgText(session))),
        hasNew,
        isSimple(items),
        columns.texts(items, ({ session }) => session),
        columns.texts(items, ({ call }) => call),
        columns.integers(items, ({ expected }) => expected),
        columns.texts(items, ({ seen }) => seen),
        columns.texts(items, ({ text }) => text),
        columns.texts(items, ({ bodies }) => bodies),
        columns.texts(items, ({ salt }) => salt),
        columns.texts(items, ({ tool }) => tool),
        columns.texts(items, ({ digest }) => digest),
        columns.texts(items, ({ extras }) => extras),
        columns.texts(items, ({ listed }) => listed),
        columns.texts(items, ({ counts }) => counts),
        columns.texts(counters, ({ name }) => name),
        columns.texts(counters, ({ quoted }) => quoted),
        columns.texts(
          items.flatMap(({ keys }) => keys),
          (key) => key,
        ),
        ...this.#guard.parameters,
      ],
      this.#statement,
    );
    this.#failingSinceMs = undefined;
    if (this.#known.size > mostKnown) this.#known.clear();
    for (const session of sessions) this.#known.add(session);
    const results = readAnswers(answers);
    if (typeof results === 'number') {
      this.#onCommit(results + jobs.length - 1);
      for (const [place, { item, resolve }] of jobs.entries())
        resolve({
          result: { status: 'appended', version: item.expected === null ? 0 : item.expected + 1 },
          position: results + place,
        });
      return;
    }
    const last = results.findLast(({ status }) => status === 'appended');
    if (last !== undefined) this.#onCommit(last.at);
    for (const row of results) jobs[row.ord - 1]?.resolve({ result: toAppendResult(row), position: row.at });
  }

  /** Answers entries that an earlier connection did write. Gives the others. */
  async #settleQuestions(connection: PgConnection, jobs: readonly Job[]): Promise<readonly Job[]> {
    const questions = jobs.filter(({ isInQuestion }) => isInQuestion);
    if (questions.length === 0) return jobs;
    const rows = await connection.query<{ ord: number; version: number | null; at: number }>(
      this.#pool.named(keptSql),
      [
        toTextArray(questions.map(({ item }) => item.session)),
        toTextArray(questions.map(({ item }) => item.call)),
        toTextArray(questions.map(({ item }) => item.prefix)),
      ],
    );
    const kept = new Set<Job>();
    for (const { ord, version, at } of rows) {
      const job = questions[ord - 1];
      if (job === undefined) continue;
      kept.add(job);
      job.resolve({ result: { status: 'appended', version: version ?? 0 }, position: at });
      this.#onCommit(at);
    }
    for (const job of questions) job.isInQuestion = false;
    return jobs.filter((job) => !kept.has(job));
  }
}

function rejectAll(error: unknown, jobs: readonly Job[]): readonly Job[] {
  for (const { reject } of jobs) reject(toUnavailable(error));
  return [];
}

const sizeOf = (item: AppendItem | undefined): number =>
  item === undefined
    ? 0
    : item.text.length + (item.bodies?.length ?? 0) + (item.extras?.length ?? 0) + (item.listed?.length ?? 0);

/** Ids of transactions only rise. So an epoch never comes back, not even after the row of the lane was removed. */
const nextEpochSql = `INSERT INTO @lanes AS l (lane_id, epoch) VALUES ($1, pg_current_xact_id()::text::bigint)
  ON CONFLICT (lane_id) DO UPDATE SET epoch = greatest(l.epoch + 1, excluded.epoch) RETURNING epoch, ${isLowSql} AS low`;

/** A role that may only decide uses the second one. */
type AppendFunction = 'append_v3' | 'append_decisions';

/** The division fails before the function is called, so nothing is written where the schema was changed. */
const toAppendSql = (name: AppendFunction): string => {
  const epoch = `$2::bigint / CASE WHEN ${toUnchangedSql(parameters + 1)} THEN 1 ELSE 0 END`;
  const given = Array.from({ length: parameters }, (_, n) => (n === 1 ? epoch : `$${n + 1}`));
  // One column, because the driver sets up each column of every answer anew.
  return `SELECT CASE r.status WHEN 'all' THEN r.at::text ELSE row_to_json(r)::text END AS answer
   FROM @${name}(${given.join(', ')}) r`;
};

const parameters = 21;
const changedSchemaState = '22012';

/** Can the batch be written by set-based statements? Then no call is in it twice, and no item has extras. */
function isSimple(items: readonly AppendItem[]): boolean {
  const calls = new Set<string>();
  for (const { session, call, extras } of items) {
    if (extras !== null) return false;
    if (call === null) continue;
    const key = `${session.length}:${session}${call}`;
    if (calls.has(key)) return false;
    calls.add(key);
  }
  return true;
}

/** The epoch was raised before this runs, so nothing of the old connection can still be under way. */
const keptSql = `
  SELECT x.o::integer AS ord, e.position AS at, coalesce(e.version,
      (SELECT max(v.version) FROM @entries v WHERE v.session_id = x.s AND v.call_id = x.c)) AS version
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY x(s, c, p, o)
  JOIN @sessions h ON h.session_id = x.s
  JOIN @entries e ON e.session_id = x.s AND e.sequence > h.sequence - 20000
    AND e.call_id IS NOT DISTINCT FROM x.c AND starts_with(e.text, x.p)`;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Disk full, too many connections, shutting down: no entry is at fault. */
const isAboutServer = (error: unknown): boolean => /^(25|53|54|57|58)/.test(sqlStateOf(error) ?? '');

/**
 * Writes the columns of one batch after another into the same buffer, as arrays in the binary format of PostgreSQL. The
 * columns of a batch are valid until the next batch begins: by then the server has answered.
 */

const firstBytes = 65_536;
const mostKeptBytes = 4_194_304;
/** UTF-8 takes at most this many bytes for a UTF-16 unit. */
const mostBytesPerUnit = 3;

class ColumnWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #start = 0;
  #at = 0;

  /** The buffer may be written again. One that a large entry needed is given up. */
  beginBatch(): void {
    this.#at = 0;
    if (this.#buffer.length > mostKeptBytes) this.#buffer = Buffer.allocUnsafe(firstBytes);
  }

  texts<Item>(items: readonly Item[], valueOf: (item: Item) => string | null): Buffer {
    this.#beginColumn(items.length, textOid);
    for (const item of items) {
      const value = valueOf(item);
      this.#reserve(4 + (value === null ? 0 : value.length * mostBytesPerUnit));
      const length = value === null ? nullLength : this.#buffer.write(value, this.#at + 4);
      this.#buffer.writeInt32BE(length, this.#at);
      this.#at += 4 + Math.max(length, 0);
      if (value === null) this.#noteNull();
    }
    return this.#buffer.subarray(this.#start, this.#at);
  }

  integers<Item>(items: readonly Item[], valueOf: (item: Item) => number | null): Buffer {
    this.#beginColumn(items.length, int4Oid);
    this.#reserve(items.length * 8);
    for (const item of items) {
      const value = valueOf(item);
      this.#at = this.#buffer.writeInt32BE(value === null ? nullLength : 4, this.#at);
      if (value === null) this.#noteNull();
      else this.#at = this.#buffer.writeInt32BE(value, this.#at);
    }
    return this.#buffer.subarray(this.#start, this.#at);
  }

  #beginColumn(length: number, elementOid: number): void {
    this.#start = this.#at;
    this.#reserve(headerBytes);
    writeHeader(this.#buffer, { at: this.#start, hasNull: 0, elementOid, length });
    this.#at += headerBytes;
  }

  #noteNull(): void {
    this.#buffer.writeInt32BE(1, this.#start + 4);
  }

  /** Earlier columns of the batch stay in the old buffer. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const written = this.#at - this.#start;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, written + bytes));
    this.#buffer.copy(larger, 0, this.#start, this.#at);
    this.#buffer = larger;
    this.#start = 0;
    this.#at = written;
  }
}

/**
 * Keeps appends away from a ledger whose tables or functions change while a process has it open. Each append compares the
 * rows of the catalog that were there when the whole schema was last compared. A changed row aborts the append before it
 * begins, and the schema is compared again. After a harmless change, such as new rights, the process goes on.
 */

export class SchemaGuard {
  readonly #pool: PgPool;
  #seen: readonly Buffer[] = [];

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  /** Parameters of `toUnchangedSql`. */
  get parameters(): readonly Buffer[] {
    return this.#seen;
  }

  /** Throws if another program changed the schema, or if another version migrated it. */
  async renew(): Promise<void> {
    const { schema } = this.#pool.settings;
    const query: PgQuery = (text, values) => this.#pool.read(text, values);
    // First, so that a change after it is not missed.
    const rows = await query<{ is_table: boolean; oid: string; xmin: string }>(seenSql, [
      schema,
      ownNames('table'),
      ownNames('function'),
    ]);
    requireFormat(await readLedgerRow(this.#pool), { schema });
    await refuseChangedSchema(query, schema);
    const tables = rows.filter((row) => row.is_table);
    const others = rows.filter((row) => !row.is_table);
    this.#seen = [tables, others].flatMap((some) => [
      toTextArray(some.map(({ oid }) => oid)),
      toTextArray(some.map(({ xmin }) => xmin)),
    ]);
  }
}

/** Only what appends use. A dropped key has no row any more. */
const seenSql = `
  SELECT true AS is_table, c.oid::text, c.xmin::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
    WHERE n.nspname = $1 AND coalesce(t.relname, c.relname) = ANY ($2::text[]) AND c.relkind IN ('r', 'i')
  UNION ALL SELECT false, p.oid::text, p.xmin::text FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = $1 AND p.proname = ANY ($3::text[])`;

/**
 * Is every row as it was seen? The flags of a table stay after a trigger, rule or child was dropped, so a new one would not
 * change its row.
 */
export const toUnchangedSql = (first: number): string => `(
    SELECT count(*) FROM unnest($${first}::text[]::oid[], $${first + 1}::text[]::xid[]) y(o, x)
    JOIN pg_catalog.pg_class c ON c.oid = y.o AND c.xmin = y.x
    WHERE NOT (c.relhastriggers AND EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid))
      AND NOT (c.relhasrules AND EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid))
      AND NOT (c.relhassubclass AND EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))
  ) = cardinality($${first}::text[]) AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_index i
    WHERE i.indrelid = ANY ($${first}::text[]::oid[]) AND i.indexrelid <> ALL ($${first}::text[]::oid[])
  ) AND (
    SELECT count(*) FROM unnest($${first + 2}::text[]::oid[], $${first + 3}::text[]::xid[]) y(o, x)
    JOIN pg_catalog.pg_proc p ON p.oid = y.o AND p.xmin = y.x
  ) = cardinality($${first + 2}::text[])`;
