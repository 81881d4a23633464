import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { whenFree } from './backoff.ts';

import type { Database } from './database.ts';
import { loadDriver } from './database.ts';
import { toDamagedFileError, toFileTrouble } from './file-trouble.ts';
import { openLedgerFile, oldTablesOf } from './open-file.ts';
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
  let ledger: SqliteLedger | undefined;
  try {
    if (options.readOnly !== true) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    database = await openLedgerFile(path, options.readOnly ?? false, options.synchronous === 'normal');
    setUpToWrite(database, writeSettings(options));
    const opened = database;
    if (options.readOnly !== true) await whenFree(() => checkOpeningKey(opened, path, options.sealKey));
    ledger = new SqliteLedger(database, path, options, threadArgv);
    if (options.readOnly !== true) {
      await ledger.listOlder(options.onUpgrade);
      for (const file of oldTablesOf(path)) rmSync(file, { force: true, recursive: true });
    }
    return ledger;
  } catch (error) {
    await ledger?.close();
    database?.close();
    throw toFileTrouble(toDamagedFileError(error, path), `The ledger ${path} could not be opened`, path);
  }
}
