import { isQuittanceError } from '../base/error.ts';

/**
 * What was read is not what was written: a finding, where trouble with reading says nothing about the ledger. Values of
 * other types than were written break whatever reads them in any way, so all else counts as damage.
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
