import { QuittanceError } from '../../base/error.ts';
import { isRefusedValue } from './database.ts';

/** The read tables cannot be filled past an entry that no version of this program writes. */
export const unfillableError = (position: number): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The hash of the entry at position ${position} was not written by this program, so the read tables ` +
      'cannot be filled. Run `quittance verify` to list every such entry.',
  );

/** If a row cannot be written because an entry lacks a value or has one of another type, the entry was changed. */
export function asDamage<Result>(position: number | undefined, put: () => Result): Result {
  try {
    return put();
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    const where = position === undefined ? '' : `, the first at position ${position}`;
    throw new QuittanceError(
      'ledger.damaged',
      `The entries of a call${where} lack values that every call has, so the read tables cannot be ` +
        'filled. Run `quittance verify` to see what was changed.',
    );
  }
}
