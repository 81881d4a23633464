/** The one file that knows better-sqlite3. */
import { chmodSync, existsSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';

export type Database = BetterSqlite3.Database;
export type Statement<Row> = BetterSqlite3.Statement<SqlValue[], Row>;
export type SqlValue = string | number | Uint8Array | null;

export type DatabaseOptions = {
  readonly readOnly?: boolean;
  readonly mustExist?: boolean;
  /** How much of the file this connection keeps in memory; 16,000 by default. */
  readonly cacheKiB?: number;
};

/**
 * Opens a file, or a temporary one of SQLite's where the path is empty, and never waits for it: whoever meets a lock is told at once and tries again later. One that is made is
 * its owner's alone before anything is in it; SQLite gives the files beside it the same rights.
 */
export function openDatabase(
  path: string,
  { readOnly = false, mustExist = false, cacheKiB }: DatabaseOptions = {},
): Database {
  const isNew = !readOnly && !mustExist && path !== ':memory:' && path !== '' && !existsSync(path);
  const database = new BetterSqlite3(path, { timeout: 0, readonly: readOnly, fileMustExist: mustExist });
  // Not by opening it ourselves: closing any descriptor of a file takes the locks of the whole process from it.
  if (isNew) chmodSync(path, 0o600);
  if (cacheKiB !== undefined) database.pragma(`cache_size = -${cacheKiB}`);
  return database;
}

/** A database that is in memory, to be read. */
export const openImage = (bytes: Buffer): Database => new BetterSqlite3(bytes, { readonly: true });

/** Prepares a statement that answers with rows of one column each, as bare values. */
export const prepareValue = <Value>(database: Database, sql: string): Statement<Value> =>
  database.prepare<SqlValue[], Value>(sql).pluck();

export const prepareRow = <Row>(database: Database, sql: string): Statement<Row> =>
  database.prepare<SqlValue[], Row>(sql);

/** Somebody else holds the lock: nothing was done, and the same may be asked again. */
export const isBusy = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_BUSY') === true;

/** There is no such file, or no folder for it. */
export const isMissing = (error: unknown): boolean =>
  codeOf(error)?.startsWith('SQLITE_CANTOPEN') === true ||
  (error instanceof TypeError && error.message.includes('directory does not exist'));

export const isReadOnly = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_READONLY') === true;

/** The system refused to read, write or flush: of a commit it is not known whether it will be found after a restart. */
export const isInputOutput = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_IOERR') === true;

/** What is in the file is not what SQLite wrote there. */
export const isDamaged = (error: unknown): boolean =>
  isNoDatabase(error) || codeOf(error)?.startsWith('SQLITE_CORRUPT') === true;

/** The tables are not those that the statement was written for: somebody changed them. */
export const isForeign = (error: unknown): boolean => codeOf(error) === 'SQLITE_ERROR';

/** A value that a column does not take: a missing one, or one of another type. */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof TypeError || /^SQLITE_(?:CONSTRAINT|MISMATCH)/.test(codeOf(error) ?? '');

export const isNoDatabase = (error: unknown): boolean => codeOf(error) === 'SQLITE_NOTADB';

function codeOf(error: unknown): string | undefined {
  return error instanceof BetterSqlite3.SqliteError ? error.code : undefined;
}
