import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { whenFree } from './backoff.ts';
import { toDamagedFileError } from './damaged-file.ts';
import type { Database } from './database.ts';
import { loadDriver } from './database.ts';
import { toFileTrouble } from './file-trouble.ts';
import { openLedgerFile } from './open-file.ts';
import type { SqliteLedgerOptions, SqliteTuning } from './sqlite-ledger-options.ts';
import { measuredTuning, writeSettings } from './sqlite-ledger-options.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import { checkOpeningKey } from './key-check.ts';
import { setUpToWrite } from './write-parts.ts';

/** Opens or creates a ledger file. Throws only our own errors: `ledger.unavailable` if the disk fails. */
export async function openSqliteLedger(
  path: string,
  options: SqliteLedgerOptions = {},
  tuning: Partial<SqliteTuning> = {},
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
    return new SqliteLedger(database, path, options, { ...measuredTuning, ...tuning });
  } catch (error) {
    database?.close();
    throw toFileTrouble(toDamagedFileError(error, path), `The ledger ${path} could not be opened`, path);
  }
}
