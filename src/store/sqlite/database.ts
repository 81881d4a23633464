/**
 * The one file that knows better-sqlite3. The package is an optional dependency: it is loaded when a database is opened,
 * so a program without a SQLite ledger runs without it.
 */
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { QuittanceError } from '../../base/error.ts';

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
  const database = open(path, { timeout: 0, readonly: readOnly, fileMustExist: mustExist });
  // Not by opening it ourselves: closing any descriptor of a file takes the locks of the whole process from it.
  if (isNew) chmodSync(path, 0o600);
  if (cacheKiB !== undefined) database.pragma(`cache_size = -${cacheKiB}`);
  return database;
}

/** A database that is in memory, to be read. */
export const openImage = (bytes: Buffer): Database => open(bytes, { readonly: true });

const require = createRequire(import.meta.url);

/** Throws `config.invalid` if the package is not installed. Node keeps the module: only the first call reads files. */
export function loadDriver(): typeof BetterSqlite3 {
  try {
    // The declarations of the package describe what it exports.
    return require('better-sqlite3') as typeof BetterSqlite3;
  } catch (error) {
    throw new QuittanceError(
      'config.invalid',
      'A SQLite ledger needs the package "better-sqlite3", which cannot be loaded. It is an optional dependency of ' +
        'quittance: install it with `npm install better-sqlite3`. A ledger in memory (`memory:`) does without it.',
      { package: 'better-sqlite3' },
      error,
    );
  }
}

/** The package loads its binary when the first database is opened. */
function open(file: string | Buffer, options: BetterSqlite3.Options): Database {
  const Driver = loadDriver();
  try {
    return new Driver(file, options);
  } catch (error) {
    if (!isLoadFailure(error)) throw error;
    throw new QuittanceError(
      'config.invalid',
      `The package "better-sqlite3" is installed, but its binary cannot be loaded here: ${error.message}. ` +
        'Install it again on this system and with this version of Node: `npm install better-sqlite3`.',
      { package: 'better-sqlite3' },
      error,
    );
  }
}

const isLoadFailure = (error: unknown): error is Error =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_DLOPEN_FAILED');

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

/** By its name, for the class is there only once the package is loaded. */
function codeOf(error: unknown): string | undefined {
  const isSqlite = error instanceof Error && error.name === 'SqliteError' && 'code' in error;
  return isSqlite && typeof error.code === 'string' ? error.code : undefined;
}
