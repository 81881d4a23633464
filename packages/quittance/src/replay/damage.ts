import { isQuittanceError } from '../base/error.ts';

/**
 * Is this error damage in the ledger? Read errors (such as a busy disk) say nothing about the ledger. Values of
 * unexpected types can break readers in any way, so every other error counts as damage.
 */
export const isDamage = (error: unknown): error is Error =>
  error instanceof Error &&
  (isQuittanceError(error)
    ? error.code === 'ledger.damaged' || error.code === 'ledger.newer'
    : !isTrouble(error));

const isTrouble = (error: Error): boolean =>
  error.name === 'AbortError' ||
  /^(SQLITE_(BUSY|LOCKED|FULL|CANTOPEN|PERM|READONLY|NOMEM|IOERR(?!_SHORT_READ|_CORRUPTFS))|E(ACCES|PERM|MFILE|NFILE|IO|NOSPC)$)/.test(
    (error as NodeJS.ErrnoException).code ?? '',
  );
