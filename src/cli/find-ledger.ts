/** Which ledger is meant, and that it is there: looking at one must not make one. */
import { statSync } from 'node:fs';
import { UsageError } from './usage-error.ts';

export const defaultLedger = './.quittance/ledger.db';

/**
 * The ledger to open: what was typed, else what the environment says, else where programs keep it by custom. Where it
 * may be made, it need not be there.
 */
export function findLedger(
  typed: string | undefined,
  fromEnvironment: string | undefined,
  mayMake = false,
): string {
  const url = typed ?? (fromEnvironment || defaultLedger);
  if (/^memory:/i.test(url))
    throw new UsageError('A ledger in memory ends with its process, so there is nothing to look at.', name);
  if (/^[a-z][a-z0-9+.-]+:/i.test(url) && !/^sqlite:/i.test(url))
    throw new UsageError(
      `No ledger can be opened from ${JSON.stringify(url)}. Known are sqlite:PATH and a bare path.`,
      name,
    );
  const path = ledgerPath(url);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined && mayMake) return url;
  if (found === undefined)
    throw new UsageError(
      `There is no ledger at ${path}${sayWhy(typed, fromEnvironment)}. A program makes one with openLedger; quittance init writes such a program.`,
      name,
    );
  if (found.isDirectory())
    throw new UsageError(`${path} is a folder; a ledger is a file.`, [
      `--ledger ${path.replace(/\/+$/, '')}/ledger.db`,
    ]);
  if (found.size === 0) throw new UsageError(`${path} is an empty file, no ledger.`, name);
  return url;
}

/** The file that a ledger is kept in. */
export const ledgerPath = (url: string): string => url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');

const sayWhy = (typed: string | undefined, fromEnvironment: string | undefined): string =>
  typed !== undefined
    ? ''
    : fromEnvironment
      ? ' (from QUITTANCE_LEDGER)'
      : ' (where one is looked for by default)';

const name = ['quittance calls --ledger path/to/ledger.db', 'export QUITTANCE_LEDGER=path/to/ledger.db'];
