import { PgPool } from './postgres/pg-pool.ts';
import { withPgEnvironment, readSettings } from './postgres/settings.ts';
import { readLedgerRow } from './postgres/migrate.ts';
import { readLeaseProcesses } from './postgres/postgres-owners.ts';
import { readLockProcesses } from './sqlite/owner-lock.ts';
import type { ProcessMark } from './files/system-process.ts';
import { parseLedgerUrl } from './ledger-url.ts';

/**
 * The processes of this machine that have the ledger open to run calls. Empty if there is no ledger yet. Undefined for a
 * process that left no mark of itself.
 */
export async function readOwnerProcesses(url: string): Promise<readonly (ProcessMark | undefined)[]> {
  const address = parseLedgerUrl(url);
  switch (address.kind) {
    case 'memory':
      return [];
    case 'sqlite':
      return readLockProcesses(`${address.path}.owners`);
    case 'postgres': {
      const pool = new PgPool(readSettings(withPgEnvironment(address.url, process.env), {}));
      try {
        return (await readLedgerRow(pool)) === undefined ? [] : await readLeaseProcesses(pool);
      } finally {
        await pool.close();
      }
    }
  }
}
