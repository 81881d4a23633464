import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { isDamaged, isForeign, isNoDatabase } from './database.ts';

/**
 * Converts an error of SQLite or the file system to one of ours that says what failed. Our own errors and programming
 * errors stay unchanged.
 */
export function toFileTrouble(error: unknown, what: string, path: string): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || isQuittanceError(error)) return error;
  return new QuittanceError(
    'ledger.unavailable',
    `${what}: ${error.message}. Nothing was changed. Check the disk, the permissions of ${path} and ` +
      'the number of open files, then retry.',
    { path },
    error,
  );
}

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
