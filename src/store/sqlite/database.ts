/**
 * The only file that uses better-sqlite3. The package is an optional dependency: it is loaded when a database is
 * opened, so a program without a SQLite ledger runs without it.
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
  /** Size of this connection's cache; 16,000 by default. */
  readonly cacheKiB?: number;
};

/**
 * Opens a file, or a temporary SQLite file if the path is empty. Never waits for a lock: a locked file is reported
 * at once and the caller retries. A new file is readable only by its owner before it has any content. SQLite
 * gives its companion files the same permissions.
 */
export function openDatabase(
  path: string,
  { readOnly = false, mustExist = false, cacheKiB }: DatabaseOptions = {},
): Database {
  const isNew = !readOnly && !mustExist && path !== ':memory:' && path !== '' && !existsSync(path);
  const database = open(path, { timeout: 0, readonly: readOnly, fileMustExist: mustExist });
  // Not by opening it ourselves: closing any descriptor of a file drops all locks that the process holds on it.
  if (isNew) chmodSync(path, 0o600);
  if (cacheKiB !== undefined) database.pragma(`cache_size = -${cacheKiB}`);
  return database;
}

/** Opens an in-memory database for reading. */
export const openImage = (bytes: Buffer): Database => open(bytes, { readonly: true });

const require = createRequire(import.meta.url);

const oldestNode = 22;

/** An older Node does not refuse the binary of the package: it crashes in it. */
export function refuseOldNode(version: string): void {
  if (Number.parseInt(version, 10) >= oldestNode) return;
  throw new QuittanceError(
    'config.invalid',
    `A SQLite ledger needs Node ${oldestNode} or newer; this is Node ${version}. Install a newer one from ` +
      'https://nodejs.org, or switch with your version manager: nvm install 24.',
  );
}

/** Node names itself in its user agent since version 21. Other runtimes name themselves, and are not refused. */
function nodeVersion(): string {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  if (navigator === undefined) return '20 or older';
  return /^Node\.js\/(\d.*)$/.exec(navigator.userAgent ?? '')?.[1] ?? String(oldestNode);
}

/**
 * Throws `config.invalid` if the package is not installed. Node caches the module: only the first call reads files.
 */
export function loadDriver(): typeof BetterSqlite3 {
  refuseOldNode(nodeVersion());
  try {
    // The declarations of the package describe its exports.
    return require('better-sqlite3') as typeof BetterSqlite3;
  } catch (error) {
    throw new QuittanceError(
      'config.invalid',
      'A SQLite ledger needs the package "better-sqlite3", which cannot be loaded. It is an optional ' +
        'dependency of quittance: install it with `npm install better-sqlite3`. A ledger in memory ' +
        '(`memory:`) works without it.',
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

/** Prepares a statement that returns rows of one column each, as bare values. */
export const prepareValue = <Value>(database: Database, sql: string): Statement<Value> =>
  database.prepare<SqlValue[], Value>(sql).pluck();

export const prepareRow = <Row>(database: Database, sql: string): Statement<Row> =>
  database.prepare<SqlValue[], Row>(sql);

/** Another connection holds the lock: nothing was done, and the caller may retry. */
export const isBusy = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_BUSY') === true;

/** There is no such file, or no folder for it. */
export const isMissing = (error: unknown): boolean =>
  codeOf(error)?.startsWith('SQLITE_CANTOPEN') === true ||
  (error instanceof TypeError && error.message.includes('directory does not exist'));

export const isReadOnly = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_READONLY') === true;

/** The system failed to read, write or flush. After a failed commit it is unknown whether a restart will find it. */
export const isInputOutput = (error: unknown): boolean => codeOf(error)?.startsWith('SQLITE_IOERR') === true;

/** The content of the file is not what SQLite wrote. */
export const isDamaged = (error: unknown): boolean =>
  isNoDatabase(error) || codeOf(error)?.startsWith('SQLITE_CORRUPT') === true;

/** The tables are not those that the statement was written for: another program changed them. */
export const isForeign = (error: unknown): boolean => codeOf(error) === 'SQLITE_ERROR';

/** A column rejected a value: it is missing or of another type. */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof TypeError || /^SQLITE_(?:CONSTRAINT|MISMATCH)/.test(codeOf(error) ?? '');

export const isNoDatabase = (error: unknown): boolean => codeOf(error) === 'SQLITE_NOTADB';

/** Checked by name, because the class exists only once the package is loaded. */
function codeOf(error: unknown): string | undefined {
  const isSqlite = error instanceof Error && error.name === 'SqliteError' && 'code' in error;
  return isSqlite && typeof error.code === 'string' ? error.code : undefined;
}
