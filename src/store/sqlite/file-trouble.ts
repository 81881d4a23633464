import { isQuittanceError, QuittanceError } from '../../base/error.ts';

/**
 * An error of SQLite or of the file system, as one of ours that says what could not be done. Our own errors, and
 * mistakes in the program, are left as they are.
 */
export function toFileTrouble(error: unknown, what: string, path: string): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || isQuittanceError(error)) return error;
  return new QuittanceError(
    'ledger.unavailable',
    `${what}: ${error.message}. Nothing was changed. Check the disk, the rights of ${path} and the number of open ` +
      'files, and try again.',
    { path },
    error,
  );
}
