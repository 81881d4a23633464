/**
 * Opens a ledger file for reading and leaves nothing behind. A writable connection used read-only removes SQLite's
 * temporary files when it is the last to close. A read-only connection would leave them.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Database } from './database.ts';
import { enlargeCache, isMissing, isNoDatabase, isReadOnly, openDatabase, openImage } from './database.ts';

export function openToRead(path: string): Database {
  for (const readOnly of [false, true])
    try {
      return tryOpen(path, readOnly);
    } catch (error) {
      // In a read-only folder SQLite cannot read a file that no other process has open.
      if (!isReadOnly(error) && !(isMissing(error) && isThere(path))) throw error;
      if (readOnly && isThere(`${path}-wal`)) throw error; // a copy would lack the content of the log
    }
  return openCopy(path);
}

function tryOpen(path: string, readOnly: boolean): Database {
  const database = openDatabase(path, { readOnly, mustExist: true });
  try {
    database.pragma('query_only = ON');
    database.pragma('schema_version');
    enlargeCache(database);
    return database;
  } catch (error) {
    if (isNoDatabase(error)) return database; // the caller that checks the content reports it better
    database.close();
    throw error;
  }
}

/** The file in memory. No process has it open, because then a log would exist. */
function openCopy(path: string): Database {
  const bytes = readFileSync(path);
  // An in-memory database has no log: these two header bytes say so.
  bytes.fill(1, 18, 20);
  return openImage(bytes);
}

const isThere = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
