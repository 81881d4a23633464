/** Finds the ledger to open. A read never creates one. */
import { statSync } from 'node:fs';
import { UsageError } from './usage-error.ts';

export const defaultLedger = './.quittance/ledger.db';

/**
 * The ledger to open: the option, else the environment variable, else the default path. With `make`, it need not
 * exist.
 */
export function findLedger(
  typed: string | undefined,
  fromEnvironment: string | undefined,
  mayMake = false,
): string {
  const url = typed ?? (fromEnvironment || defaultLedger);
  if (/^memory:/i.test(url))
    throw new UsageError('A ledger in memory ends with its process, so there is nothing to read.', name);
  if (/^[a-z][a-z0-9+.-]+:/i.test(url) && !/^sqlite:/i.test(url))
    throw new UsageError(`Unsupported ledger ${JSON.stringify(url)}. Use sqlite:PATH or a path.`, name);
  const path = ledgerPath(url);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined && mayMake) return url;
  if (found === undefined)
    throw new UsageError(
      `There is no ledger at ${path}${sayWhy(typed, fromEnvironment)}. A program creates one with openLedger; quittance init writes such a program.`,
      name,
    );
  if (found.isDirectory())
    throw new UsageError(`${path} is a folder; a ledger is a file.`, [
      `--ledger ${path.replace(/\/+$/, '')}/ledger.db`,
    ]);
  if (found.size === 0) throw new UsageError(`${path} is an empty file, not a ledger.`, name);
  return url;
}

/** The file of a ledger. */
export const ledgerPath = (url: string): string => url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');

const sayWhy = (typed: string | undefined, fromEnvironment: string | undefined): string =>
  typed !== undefined ? '' : fromEnvironment ? ' (from QUITTANCE_LEDGER)' : ' (the default path)';

const name = ['quittance calls --ledger path/to/ledger.db', 'export QUITTANCE_LEDGER=path/to/ledger.db'];
