/** Opens a ledger file and checks that it is one, or throws an error that says what to do. */
import { QuittanceError } from '../../base/error.ts';
import { whenFree } from './backoff.ts';
import type { Database } from './database.ts';
import { isMissing, openDatabase } from './database.ts';
import { openToRead } from './open-to-read.ts';
import { lookAtSchema, prepareSchema } from './schema.ts';

export async function openLedgerFile(path: string, readOnly: boolean): Promise<Database> {
  // The last process to close the file merges its log into it, and locks it meanwhile.
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
    const why = readOnly ? 'there is no such file' : 'the file can be neither read nor created';
    throw new QuittanceError(
      'config.invalid',
      `The ledger ${path} cannot be opened: ${why}.`,
      { path },
      error,
    );
  }
}
