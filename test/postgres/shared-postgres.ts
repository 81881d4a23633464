import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { starterVariable } from './serve-postgres.ts';
import type { TestPostgres } from './start-postgres.ts';
import { startPostgres } from './start-postgres.ts';

/**
 * The server that all test files share, or `QUITTANCE_TEST_POSTGRES`. Each file uses schemas of its own. A test that
 * stops the server, changes its settings, or leaves a transaction open for long, starts its own with `startPostgres`.
 */
export async function sharePostgres(): Promise<TestPostgres> {
  const port = process.env[starterVariable];
  // Without Vitest, or with an existing server.
  if (port === undefined) return startPostgres();
  const url = await text(connect(Number(port), '127.0.0.1'));
  if (!url.startsWith('postgres:')) throw new Error(`The shared PostgreSQL server did not start. ${url}`);
  return { url, stop: () => Promise.resolve() };
}
