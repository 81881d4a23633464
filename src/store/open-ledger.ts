import { QuittanceError } from '../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import { openPostgresLedger } from './postgres/open-postgres-ledger.ts';
import type { PostgresLedgerOptions } from './postgres/postgres-ledger-options.ts';
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
export async function openLedger(url: string, options: OpenLedgerOptions = {}): Promise<Ledger> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'memory' && url.length === 'memory:'.length)
    return createMemoryLedger({
      ...(options.clock && { clock: options.clock }),
      ...(options.sealKey && { sealKey: options.sealKey }),
    });
  if (scheme === undefined || scheme === 'sqlite') {
    const path = scheme === undefined ? url : url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
    if (path !== '' && !path.startsWith(':')) return openSqliteLedger(path, options);
  }
  if (scheme === 'postgres' || scheme === 'postgresql') return openPostgresLedger(url, options);
  throw new QuittanceError(
    'config.invalid',
    `Cannot open a ledger from ${JSON.stringify(url)}. Use "memory:", "sqlite:./path/to.db", a bare path or ` +
      '"postgres://user@host/database".',
    { url },
  );
}
