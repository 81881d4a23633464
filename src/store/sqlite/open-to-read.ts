/**
 * Opens a ledger file to look at it. Nothing is left behind: a connection that may write, and is told not to, takes
 * SQLite's files of the moment away again when it is the last; one that may not would leave them lying about.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Database } from './database.ts';
import { isMissing, isNoDatabase, isReadOnly, openDatabase, openImage } from './database.ts';

export function openToRead(path: string): Database {
  for (const readOnly of [false, true])
    try {
      return tryOpen(path, readOnly);
    } catch (error) {
      // In a folder that may not be written SQLite cannot read a file that nobody else has open.
      if (!isReadOnly(error) && !(isMissing(error) && isThere(path))) throw error;
      if (readOnly && isThere(`${path}-wal`)) throw error; // what is in there would be missing from a copy
    }
  return openCopy(path);
}

function tryOpen(path: string, readOnly: boolean): Database {
  const database = openDatabase(path, { readOnly, mustExist: true });
  try {
    database.pragma('query_only = ON');
    database.pragma('schema_version');
    return database;
  } catch (error) {
    if (isNoDatabase(error)) return database; // said better by whoever looks what is in it
    database.close();
    throw error;
  }
}

/** The file in memory. Nobody has it open, or there would be a log beside it. */
function openCopy(path: string): Database {
  const bytes = readFileSync(path);
  // A database in memory keeps no log: the two bytes of the header that say so.
  bytes.fill(1, 18, 20);
  return openImage(bytes);
}

const isThere = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
