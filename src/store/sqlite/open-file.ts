/** A ledger file, opened and found to be one, or an error that says what to do. */
import { QuittanceError } from '../../base/error.ts';
import { whenFree } from './backoff.ts';
import type { Database } from './database.ts';
import { isMissing, openDatabase } from './database.ts';
import { openToRead } from './open-to-read.ts';
import { lookAtSchema, prepareSchema } from './schema.ts';

export async function openLedgerFile(path: string, readOnly: boolean): Promise<Database> {
  // Whoever closes it last folds its log into it, and has it locked meanwhile.
  const database = await whenFree(() => openFile(path, readOnly));
  try {
    await whenFree(() => (readOnly ? lookAtSchema(database, path) : prepareSchema(database, path)));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function openFile(path: string, readOnly: boolean): Database {
  try {
    return readOnly ? openToRead(path) : openDatabase(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const why = readOnly ? 'there is no such file' : 'the file can neither be read nor made';
    throw new QuittanceError(
      'config.invalid',
      `The ledger ${path} cannot be opened: ${why}.`,
      { path },
      error,
    );
  }
}
