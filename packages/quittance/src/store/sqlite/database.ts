/**
 * The only file that uses `node:sqlite`. An older Node lacks this module, so it is loaded when a database is opened. The
 * error then says what to install.
 */
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { backup, BackupProgressInfo, DatabaseSync, StatementSync } from 'node:sqlite';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { QuittanceError } from '../../base/error.ts';
import type { SqlNames } from '../sql/driver.ts';
import { createNames } from '../sql/driver.ts';

export type SqlValue = string | number | Uint8Array | null;

type DatabaseOptions = {
  readonly readOnly?: boolean;
  readonly mustExist?: boolean;
};

/**
 * Opens a file, or a temporary SQLite file if the path is empty. Never waits for a lock: a locked file is reported
 * at once and the caller retries. A new file is readable only by its owner before it has any content. SQLite
 * gives its companion files the same permissions.
 */
export function openDatabase(
  path: string,
  { readOnly = false, mustExist = false }: DatabaseOptions = {},
): Database {
  const { DatabaseSync: Sqlite } = loadDriver();
  const options = { readOnly, timeout: 0 };
  if (path === ':memory:' || path === '') return new Database(new Sqlite(path, options));
  // SQLite takes a text that starts with "file:" for a URL, and an absolute path never does.
  const absolute = resolve(path);
  const isNew = !readOnly && !mustExist && !existsSync(absolute);
  const database = new Sqlite(mustExist && !readOnly ? existing(absolute) : absolute, options);
  // Not by opening it ourselves: closing any descriptor of a file drops all locks that the process holds on it.
  if (isNew) chmodSync(absolute, 0o600);
  return new Database(database);
}

/**
 * For a connection that works on a whole ledger. By default it keeps 2 MB of pages. A commit of many calls changes more,
 * and SQLite would write some of them twice.
 */
export const enlargeCache = (database: Database): unknown => database.pragma('cache_size = -16000');

/** Only a URL can say that SQLite must not create the file. */
function existing(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'rw');
  return url;
}

/** Opens an in-memory database for reading. */
export function openImage(bytes: Uint8Array): Database {
  const { DatabaseSync: Sqlite } = loadDriver();
  const database = new Sqlite(':memory:');
  database.deserialize(bytes);
  database.exec('PRAGMA query_only = ON');
  return new Database(database);
}

const require = createRequire(import.meta.url);

type Driver = { readonly DatabaseSync: typeof DatabaseSync; readonly backup: typeof backup };

/** Throws `config.invalid` on a Node that is too old. Node caches the module. */
export function loadDriver(): Driver {
  const driver = findDriver();
  // The newest of the features that are used here.
  if (driver !== undefined && 'deserialize' in driver.DatabaseSync.prototype) return driver;
  throw new QuittanceError(
    'config.invalid',
    'A SQLite ledger needs Node 24.16 or newer, because it uses the SQLite of Node. Install a newer Node from ' +
      'https://nodejs.org, or switch with your version manager: nvm install 24. A ledger in memory ' +
      '(`memory:`) works without it.',
  );
}

function findDriver(): Driver | undefined {
  try {
    return require('node:sqlite') as Driver; // Node's declarations describe it
  } catch {
    return undefined;
  }
}

/** A connection. */
export class Database {
  readonly #sqlite: DatabaseSync;
  /** Statements that were used, by their text. */
  readonly #rows = new Map<string, Statement<unknown>>();
  readonly #values = new Map<string, Statement<unknown>>();

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
  }

  get open(): boolean {
    return this.#sqlite.isOpen;
  }

  get inTransaction(): boolean {
    return this.open && this.#sqlite.isTransaction;
  }

  /** Is it in memory, or in a temporary file? */
  get memory(): boolean {
    return this.#sqlite.location() === null;
  }

  prepare<Row = unknown>(sql: string): Statement<Row> {
    return new Statement(this.#sqlite.prepare(sql), false);
  }

  /** A statement that returns rows of one column each, as bare values. */
  prepareValue<Value>(sql: string): Statement<Value> {
    return new Statement(this.#sqlite.prepare(sql), true);
  }

  /** A statement that returns rows, prepared once. The caller names their type, as SQL does not. */
  row<Row>(sql: string): Statement<Row> {
    let statement = this.#rows.get(sql);
    if (statement === undefined) this.#rows.set(sql, (statement = this.prepare(sql)));
    return statement as Statement<Row>;
  }

  /** The same for rows of one column, as bare values. */
  value<Value>(sql: string): Statement<Value> {
    let statement = this.#values.get(sql);
    if (statement === undefined) this.#values.set(sql, (statement = this.prepareValue(sql)));
    return statement as Statement<Value>;
  }

  /** Changes rows. Returns how many. */
  run(sql: string, ...values: readonly SqlValue[]): number {
    return this.row<never>(sql).run(...values).changes;
  }

  exec(sql: string): void {
    this.#sqlite.exec(sql);
  }

  /** Runs a pragma and returns its rows; with `simple`, the first value of the first row. */
  pragma(text: string, { simple = false }: { readonly simple?: boolean } = {}): unknown {
    return simple ? this.prepareValue(`PRAGMA ${text}`).get() : this.prepare(`PRAGMA ${text}`).all();
  }

  /** Runs this in a transaction of its own, or in the open one. Rolls its own back if this throws. */
  transaction<Result>(run: () => Result, begin: 'BEGIN' | 'BEGIN IMMEDIATE' = 'BEGIN'): Result {
    if (this.inTransaction) return run();
    this.exec(begin);
    try {
      const result = run();
      this.exec('COMMIT');
      return result;
    } finally {
      if (this.inTransaction) this.exec('ROLLBACK');
    }
  }

  /** Reads in one transaction: all of it is as of one moment. */
  atOneMoment<Result>(read: () => Result): Result {
    if (this.inTransaction) return read();
    this.run('BEGIN');
    try {
      return read();
    } finally {
      // Nothing was written. In a damaged file SQLite may have ended it by itself.
      if (this.inTransaction) this.run('ROLLBACK');
    }
  }

  /** Copies the database to a file. In an open read transaction: as it was when that began to read. */
  async backup(
    path: string,
    options: { readonly rate: number; readonly progress: (progress: BackupProgressInfo) => void },
  ): Promise<void> {
    await loadDriver().backup(this.#sqlite, resolve(path), options);
  }

  close(): void {
    if (this.open) this.#sqlite.close();
  }
}

/** A prepared statement. The type of its rows is what its SQL says, which the compiler cannot check. */
export class Statement<Row> {
  readonly #statement: StatementSync;
  readonly #isValue: boolean;

  constructor(statement: StatementSync, isValue: boolean) {
    this.#statement = statement;
    this.#isValue = isValue;
    if (isValue) statement.setReturnArrays(true);
  }

  get(...values: readonly SqlValue[]): Row | undefined {
    try {
      const row = this.#statement.get(...values);
      return row === undefined ? undefined : this.#toRow(row);
    } catch (error) {
      throw toReadError(error);
    }
  }

  all(...values: readonly SqlValue[]): Row[] {
    try {
      const rows = this.#statement.all(...values);
      return this.#isValue ? rows.map((row) => this.#toRow(row)) : (rows as Row[]);
    } catch (error) {
      throw toReadError(error);
    }
  }

  *iterate(...values: readonly SqlValue[]): Generator<Row, void, undefined> {
    try {
      for (const row of this.#statement.iterate(...values)) yield this.#toRow(row);
    } catch (error) {
      this.#reset(values);
      throw toReadError(error);
    }
  }

  /** After a failed read, Node throws its error once more when the statement is iterated again. */
  #reset(values: readonly SqlValue[]): void {
    try {
      this.#statement.iterate(...values).return?.();
    } catch {
      // the error that the caller gets
    }
  }

  run(...values: readonly SqlValue[]): { readonly changes: number } {
    // A number, because no statement here reads big integers.
    return this.#statement.run(...values) as { changes: number };
  }

  #toRow(row: unknown): Row {
    return this.#isValue ? ((row as readonly unknown[])[0] as Row) : (row as Row);
  }
}

/** This program writes only safe integers. */
const toReadError = (error: unknown): unknown =>
  error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE'
    ? new QuittanceError(
        'ledger.damaged',
        'A number in the ledger file was not written by this program: another program changed the file.',
        undefined,
        error,
      )
    : error;

export const prepareValue = <Value>(database: Database, sql: string): Statement<Value> =>
  database.prepareValue<Value>(sql);

export const prepareRow = <Row>(database: Database, sql: string): Statement<Row> =>
  database.prepare<Row>(sql);

/** Result codes of SQLite: https://sqlite.org/rescode.html. The lower byte of a code is its kind. */
const kinds = {
  error: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  noDatabase: 26,
} as const;

/** Another connection holds the lock: nothing was done, and the caller may retry. */
export const isBusy = (error: unknown): boolean => isOf(error, 'busy');

/** There is no such file, or no folder for it. */
export const isMissing = (error: unknown): boolean => isOf(error, 'cannotOpen');

export const isReadOnly = (error: unknown): boolean => isOf(error, 'readOnly');

/** The system failed to read, write or flush. After a failed commit it is unknown whether a restart will find it. */
export const isInputOutput = (error: unknown): boolean => isOf(error, 'inputOutput');

/** A read found less than a page, or a corrupt file system: it tells of the content, and not of the disk. */
export const isShortRead = (error: unknown): boolean => {
  const [shortRead, corruptFileSystem] = [2, 33].map((detail) => kinds.inputOutput | (detail << 8));
  return codeOf(error) === shortRead || codeOf(error) === corruptFileSystem;
};

/** The disk, a lock or the permissions are in the way. A retry may work. */
export const isUnavailable = (error: unknown): boolean =>
  isOf(error, 'busy', 'locked', 'readOnly', 'inputOutput', 'full', 'cannotOpen');

/** The content of the file is not what SQLite wrote. */
export const isDamaged = (error: unknown): boolean => isOf(error, 'corrupt', 'noDatabase');

/** The tables are not those that the statement was written for: another program changed them. */
export const isForeign = (error: unknown): boolean => codeOf(error) === kinds.error;

/** A column rejected a value: it is missing or of another type. */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof TypeError || isOf(error, 'constraint', 'mismatch');

export const isNoDatabase = (error: unknown): boolean => isOf(error, 'noDatabase');

function isOf(error: unknown, ...names: readonly (keyof typeof kinds)[]): boolean {
  const code = codeOf(error);
  return code !== undefined && names.some((name) => kinds[name] === (code & 255));
}

const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;

export const sqliteNames: SqlNames = createNames(() => true);
export const toSqlText: SqlNames['toText'] = sqliteNames.toText;
export const fromSqlText: SqlNames['fromText'] = sqliteNames.fromText;

/**
 * Inserts rows of one table, several with one statement: that costs two thirds of inserting each by itself. Rows wait
 * here until there are enough, so call `flush` before anything reads them in the same transaction, and before its commit.
 */

/** Measured: more rows per statement gain little. */
const rowsPerStatement = 8;

export class RowInserts<Row extends readonly SqlValue[]> {
  readonly #database: Database;
  readonly #table: string;
  readonly #columns: Row['length'];
  /** Prepared by the first insert, because a file of an older version that is only read lacks columns. */
  #many: Statement<never> | undefined;
  #one: Statement<never> | undefined;
  #waiting: SqlValue[] = [];

  constructor(database: Database, table: string, columns: Row['length']) {
    this.#database = database;
    this.#table = table;
    this.#columns = columns;
  }

  add(row: Row): void {
    this.#waiting.push(...row);
    if (this.#waiting.length < this.#columns * rowsPerStatement) return;
    this.#many ??= this.#prepare(rowsPerStatement);
    const rows = this.#waiting;
    this.#waiting = [];
    this.#many.run(...rows);
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#one ??= this.#prepare(1);
    const columns = this.#columns;
    const rows = this.#waiting;
    this.#waiting = [];
    if (rows.length === columns) this.#one.run(...rows);
    else for (let at = 0; at < rows.length; at += columns) this.#one.run(...rows.slice(at, at + columns));
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#waiting = [];
  }

  #prepare(rows: number): Statement<never> {
    const row = `(${Array.from({ length: this.#columns }, () => '?').join(', ')})`;
    return prepareRow(
      this.#database,
      `INSERT INTO ${this.#table} VALUES ${Array.from({ length: rows }, () => row).join(', ')}`,
    );
  }
}
