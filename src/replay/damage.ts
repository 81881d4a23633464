import { isQuittanceError } from '../base/error.ts';

/** What was read is not what was written: a finding, where anything else is trouble with reading. */
export const isDamage = (error: unknown): error is Error =>
  isQuittanceError(error, 'ledger.damaged') ||
  (error instanceof Error &&
    /^(SQLITE_CORRUPT|SQLITE_NOTADB|ERR_ENCODING_INVALID)/.test((error as NodeJS.ErrnoException).code ?? ''));
