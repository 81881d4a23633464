/** The tests of the HTTP API, on a PostgreSQL ledger. */
import { afterAll, beforeAll, vi } from 'vitest';
import { ledgerVariable } from '../http/start-server.ts';

beforeAll(() => {
  vi.stubEnv(ledgerVariable, 'postgres');
  vi.stubEnv('QUITTANCE_SEAL_KEY', 'ab'.repeat(32));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

// Another file of this worker may have loaded them already.
vi.resetModules();
await import('../http/api.test.ts');
await import('../http/forks.test.ts');
