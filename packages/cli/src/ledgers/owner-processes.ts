import { PgPool } from '@quittance/postgres/internal/pg-pool';
import { withPgEnvironment, readSettings } from '@quittance/postgres/internal/settings';
import { readLedgerRow } from '@quittance/postgres/internal/migrate';
import { readLeaseProcesses } from '@quittance/postgres/internal/postgres-owners';
import { readLockProcesses } from 'quittance/internal/store/sqlite/owner-lock';
import type { ProcessMark } from 'quittance/internal/store/files/system-process';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';

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
