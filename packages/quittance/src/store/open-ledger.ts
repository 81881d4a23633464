import { existsSync } from 'node:fs';
import { checkObject } from '../base/check-keys.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import { parseLedgerUrl } from './ledger-url.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import type { PostgresLedgerOptions } from './postgres-package.ts';
import { postgresPackage } from './postgres-package.ts';
import { findGivenSealKey, findSealKey, needSealKey } from './seal-key.ts';
import type { SqliteLedgerOptions } from './sqlite/sqlite-ledger-options.ts';
import { openSqliteLedger } from './sqlite/open-sqlite-ledger.ts';

export type OpenLedgerOptions = SqliteLedgerOptions & PostgresLedgerOptions;

/**
 * Opens the ledger that a URL names:
 *
 * - `sqlite:./calls.db` or a bare path for a file, which is created if there is none;
 * - `postgres://user@host/database` for a PostgreSQL server;
 * - `memory:` for a ledger that ends with the process.
 *
 * Close the ledger when no runtime uses it any more.
 */
export async function openLedger(url: string, options: OpenLedgerOptions = {}): Promise<OpenLedger> {
  checkObject('openLedger', options);
  // A process that only reads needs no key, so none is created for it.
  return openWithKey(url, options, options.readOnly === true ? 'look' : 'make');
}

/**
 * The same. With `look`, a missing seal key is not created: for commands that people run on any machine, most of which
 * need no key.
 */
export async function openWithKey(
  url: string,
  options: OpenLedgerOptions,
  keyAccess: 'make' | 'look',
): Promise<OpenLedger> {
  const address = parseLedgerUrl(url);
  switch (address.kind) {
    case 'memory':
      return createMemoryLedger({
        ...(options.clock && { clock: options.clock }),
        ...(options.sealKey && { sealKey: options.sealKey }),
      });
    case 'sqlite':
      return openFile(address.path, options, keyAccess);
    case 'postgres': {
      const { openPostgresLedger, withPgEnvironment } = postgresPackage();
      return openPostgresLedger(withPgEnvironment(address.url, process.env), {
        ...options,
        ...(options.listen && { listen: withPgEnvironment(options.listen, process.env) }),
        ...(keyAccess === 'make' ? needSealKey(process.env, options) : findSealKey(process.env, options)),
      });
    }
  }
}

async function openFile(
  path: string,
  options: OpenLedgerOptions,
  keyAccess: 'make' | 'look',
): Promise<OpenLedger> {
  const ledger = await openSqliteLedger(path, { ...options, ...findFileKey(path, options) });
  try {
    if (keyAccess === 'make') ledger.requireSealKey();
    return ledger;
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** A key file next to the ledger is its key. Without one, the options or a variable may give the key. */
export function findFileKey(
  path: string,
  { sealKey, sealKeyFile }: OpenLedgerOptions,
): Pick<OpenLedgerOptions, 'sealKey' | 'readSealKey'> {
  if (sealKey !== undefined || (sealKeyFile === undefined && existsSync(`${path}.key`))) return {};
  const found = findGivenSealKey(process.env, { sealKeyFile });
  return found === undefined ? {} : { sealKey: found.sealKey, readSealKey: found.readSealKey };
}
