import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { whenFree } from './backoff.ts';

import type { Database } from './database.ts';
import { loadDriver } from './database.ts';
import { toDamagedFileError, toFileTrouble } from './file-trouble.ts';
import { CallLists } from './call-lists.ts';
import { EntryTable } from './entry-table.ts';
import { openLedgerFile, oldTablesOf } from './open-file.ts';
import { createTransactions, isRelisting, relist } from './relist.ts';
import { Sessions } from './sessions.ts';
import type { SqliteLedgerOptions } from './sqlite-ledger-options.ts';
import { setUpToWrite, writeSettings } from './sqlite-ledger-options.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import { checkOpeningKey } from './key-check.ts';

/**
 * Opens or creates a ledger file. Throws only our own errors: `ledger.unavailable` if the disk fails. `threadArgv`: options
 * of Node for the thread that writes, for tests.
 */
export async function openSqliteLedger(
  path: string,
  options: SqliteLedgerOptions = {},
  threadArgv: readonly string[] = [],
): Promise<SqliteLedger> {
  // Checked before a folder is created for a ledger that cannot be opened.
  loadDriver();
  let database: Database | undefined;
  try {
    if (options.readOnly !== true) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    database = await openLedgerFile(path, options.readOnly ?? false, options.synchronous === 'normal');
    setUpToWrite(database, writeSettings(options));
    const opened = database;
    if (options.readOnly !== true) await whenFree(() => checkOpeningKey(opened, path, options.sealKey));
    if (options.readOnly !== true) await listOlder(database, path, options);
    return new SqliteLedger(database, path, options, threadArgv);
  } catch (error) {
    database?.close();
    throw toFileTrouble(toDamagedFileError(error, path), `The ledger ${path} could not be opened`, path);
  }
}

/** Entries of older versions are listed before the ledger is used. If this process is killed, the next one goes on. */
async function listOlder(
  database: Database,
  path: string,
  { onUpgrade }: SqliteLedgerOptions,
): Promise<void> {
  if (isRelisting(database)) {
    const lists = new CallLists(database, new EntryTable(database));
    const parts = { database, sessions: new Sessions(database), lists };
    await relist(parts, createTransactions(parts), onUpgrade);
  }
  for (const file of oldTablesOf(path)) rmSync(file, { force: true, recursive: true });
}
