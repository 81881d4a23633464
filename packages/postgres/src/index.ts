/**
 * The door `@quittance/postgres`. `openLedger` and `createRuntime` of `quittance` load it for a URL of a PostgreSQL server,
 * so programs rarely import it.
 */
export { checkPostgresUrl, withPgEnvironment } from './settings.ts';
export { requireDriver } from './pg-driver.ts';
export { openPostgresLedger } from './open-postgres-ledger.ts';
export type { PostgresLedgerOptions } from 'quittance/internal/store/postgres-package';
