import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { toDamagedFileError } from './damaged-file.ts';
import type { Database } from './database.ts';
import { loadDriver } from './database.ts';
import { toFileTrouble } from './file-trouble.ts';
import { openLedgerFile } from './open-file.ts';
import type { SqliteLedgerOptions, SqliteTuning } from './sqlite-ledger-options.ts';
import { measuredTuning } from './sqlite-ledger-options.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

/** Opens a ledger file, or makes one. Throws only errors of ours: `ledger.unavailable` where the disk refuses. */
export async function openSqliteLedger(
  path: string,
  options: SqliteLedgerOptions = {},
  tuning: Partial<SqliteTuning> = {},
): Promise<SqliteLedger> {
  // Before a folder is made for a ledger that cannot be opened.
  loadDriver();
  let database: Database | undefined;
  try {
    if (options.readOnly !== true) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    database = await openLedgerFile(path, options.readOnly ?? false);
    database.pragma(`synchronous = ${options.synchronous === 'normal' ? 'NORMAL' : 'FULL'}`);
    // What is erased must not be left in pages nobody uses any more.
    database.pragma('secure_delete = ON');
    if (options.maxBytes !== undefined) {
      const pageBytes = database.pragma('page_size', { simple: true }) as number;
      database.pragma(`max_page_count = ${Math.max(1, Math.floor(options.maxBytes / pageBytes))}`);
    }
    return new SqliteLedger(database, path, options, { ...measuredTuning, ...tuning });
  } catch (error) {
    database?.close();
    throw toFileTrouble(toDamagedFileError(error, path), `The ledger ${path} could not be opened`, path);
  }
}
