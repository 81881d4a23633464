import { isQuittanceError, QuittanceError } from '../../base/error.ts';

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
