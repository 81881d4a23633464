import { QuittanceError } from '../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import type { SqliteLedgerOptions } from './sqlite/sqlite-ledger-options.ts';
import { openSqliteLedger } from './sqlite/open-sqlite-ledger.ts';

export type OpenLedgerOptions = SqliteLedgerOptions;

/**
 * Opens the ledger a text names: `sqlite:./calls.db` or a bare path for a file, which is made if there is none, and
 * `memory:` for one that ends with the process. Close it when no runtime uses it any more.
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
  throw new QuittanceError(
    'config.invalid',
    `No ledger can be opened from ${JSON.stringify(url)}. Known are "memory:", "sqlite:./path/to.db" and a bare path.`,
    { url },
  );
}
