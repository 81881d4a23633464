import { QuittanceError } from '../../base/error.ts';
import { isDamaged, isForeign, isNoDatabase } from './database.ts';

/** An error that says what to do, where SQLite says that the file is not one that it wrote. Others are left as they are. */
export const toDamagedFileError = (error: unknown, path: string): unknown =>
  (isDamaged(error) && !isNoDatabase(error)) || isForeign(error)
    ? new QuittanceError(
        'ledger.damaged',
        `The file ${path} is damaged: ${(error as Error).message}. Nothing was changed. Go back to a copy of the ledger; ` +
          '`quittance export` writes what can still be read.',
        { path },
        error,
      )
    : error;
