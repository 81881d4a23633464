import { QuittanceError } from '../../base/error.ts';
import { isDamaged, isForeign, isNoDatabase } from './database.ts';

/** Converts SQLite's report of a damaged file to an error that says what to do. Other errors stay unchanged. */
export const toDamagedFileError = (error: unknown, path: string): unknown =>
  (isDamaged(error) && !isNoDatabase(error)) || isForeign(error)
    ? new QuittanceError(
        'ledger.damaged',
        `The file ${path} is damaged: ${(error as Error).message}. Nothing was changed. Restore a ` +
          'backup of the ledger; `quittance export` writes what can still be read.',
        { path },
        error,
      )
    : error;
