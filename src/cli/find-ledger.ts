/** Finds the ledger to open. A read never creates one. */
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { isQuittanceError } from '../base/error.ts';
import type { LedgerAddress } from '../store/ledger-url.ts';
import { parseLedgerUrl } from '../store/ledger-url.ts';
import { UsageError } from './usage-error.ts';

export const defaultLedger = './.quittance/ledger.db';

/**
 * The ledger to open: the option, else the environment variable, else the default path. With `make`, it need not
 * exist. Whether a database has one is known when it is opened.
 */
export function findLedger(
  typed: string | undefined,
  fromEnvironment: string | undefined,
  mayMake = false,
): string {
  const url = typed ?? (fromEnvironment || defaultLedger);
  if (/^memory:/i.test(url))
    throw new UsageError('A ledger in memory ends with its process, so there is nothing to read.', name);
  const address = parseTyped(url);
  if (address.kind !== 'sqlite') return url;
  const { path } = address;
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
  // Owners and tokens are next to the file itself, not next to a link to it.
  return lstatSync(path).isSymbolicLink() ? realpathSync(path) : url;
}

/** The file of a ledger; undefined if it is in a database. */
export function ledgerFile(url: string): string | undefined {
  const address = parseLedgerUrl(url);
  return address.kind === 'sqlite' ? address.path : undefined;
}

function parseTyped(url: string): LedgerAddress {
  try {
    return parseLedgerUrl(url);
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    throw new UsageError(error.message, [...name, 'quittance calls --ledger postgres://user@host/database']);
  }
}

const sayWhy = (typed: string | undefined, fromEnvironment: string | undefined): string =>
  typed !== undefined ? '' : fromEnvironment ? ' (from QUITTANCE_LEDGER)' : ' (the default path)';

const name = ['quittance calls --ledger path/to/ledger.db', 'export QUITTANCE_LEDGER=path/to/ledger.db'];
