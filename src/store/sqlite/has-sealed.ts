import { existsSync } from 'node:fs';
import type { Database } from './database.ts';
import { loadDriver, prepareValue } from './database.ts';

/** Does the ledger have sealed inputs, which only the key that sealed them opens? */
export const hasSealed = (database: Database): boolean =>
  prepareValue<number>(database, 'SELECT EXISTS (SELECT 1 FROM sealed)').get() === 1;

/** The same for a ledger that is not open. A file that cannot be read is reported when it is opened. */
export function hasSealedFile(path: string): boolean {
  if (!existsSync(path)) return false;
  const Driver = loadDriver();
  try {
    const database = new Driver(path, { readonly: true, fileMustExist: true });
    try {
      return hasSealed(database);
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}
