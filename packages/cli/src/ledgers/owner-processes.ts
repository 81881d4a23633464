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
      const { PgPool } = await import('@quittance/postgres/internal/pg-pool');
      const { readSettings, withPgEnvironment } = await import('@quittance/postgres/internal/settings');
      const { readLedgerRow } = await import('@quittance/postgres/internal/migrate');
      const { readLeaseProcesses } = await import('@quittance/postgres/internal/postgres-owners');
      const pool = new PgPool(readSettings(withPgEnvironment(address.url, process.env), {}));
      try {
        return (await readLedgerRow(pool)) === undefined ? [] : await readLeaseProcesses(pool);
      } finally {
        await pool.close();
      }
    }
  }
}
