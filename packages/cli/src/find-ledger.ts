/** Finds the ledger to open. A read never creates one. */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { LedgerAddress } from 'quittance/internal/store/ledger-url';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { exitCodes } from './exit-code.ts';
import { UsageError } from './usage-error.ts';

export const defaultLedger = './.quittance/ledger.db';

/**
 * The ledger to open: the option, else the environment variable, else the default path. With `make`, it need not
 * exist. Whether a database has one is known when it is opened. A file is named by its real path. Owners
 * and tokens are next to the file itself. A link that changes later leads nowhere else.
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
  if (found === undefined && mayMake) return realPathOf(resolve(path));
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
  return realpathSync(path);
}

/** The real path of a file that need not exist, nor its folder. */
function realPathOf(path: string): string {
  const folder = dirname(path);
  if (folder === path) return path;
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return realpathSync(path);
  return join(realPathOf(folder), basename(path));
}

/**
 * The ledgers of one run of a command. Each is found once. If a folder changed between the proof and the effect, the
 * command would decide about a ledger without proof.
 */
export class FoundLedgers {
  readonly #urls = new Map<string, string>();
  readonly #files = new Map<string, string | undefined>();

  find(typed: string | undefined, fromEnvironment: string | undefined, mayMake: boolean): string {
    const name = typed ?? (fromEnvironment || defaultLedger);
    const known = this.#urls.get(name);
    const url =
      known === undefined || ledgerFile(known) === undefined
        ? findLedger(typed, fromEnvironment, mayMake)
        : findLedger(known, undefined, mayMake);
    if (known !== undefined && known !== url) throw changed(known);
    this.#urls.set(name, url);
    this.check(url);
    return url;
  }

  /** Throws if another file is in its place now. */
  check(url: string): void {
    const path = ledgerFile(url);
    if (path === undefined) return;
    const found = statSync(path, { throwIfNoEntry: false });
    const file = found && `${found.dev} ${found.ino}`;
    const before = this.#files.get(url);
    if (before !== undefined && before !== file) throw changed(path);
    this.#files.set(url, file);
  }
}

const changed = (path: string): UsageError =>
  new UsageError(
    `Another file took the place of the ledger ${path} while this command ran. Nothing was done.`,
    ['quittance doctor'],
    exitCodes.bad,
  );

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
