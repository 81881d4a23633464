/** The ledgers of the rounds: a file each, or a schema each on a real PostgreSQL server. */
import { join } from 'node:path';
import { PgServer } from '../../test/postgres/pg-server.ts';

export interface Ledgers {
  /** The URL or path of a new ledger. */
  create(name: string): string;
  /** The server; undefined for files. */
  readonly server: PgServer | undefined;
  close(): Promise<void>;
}

export const fileLedgers = (folder: string): Ledgers => ({
  create: (name) => join(folder, `${name}.db`),
  server: undefined,
  close: () => Promise.resolve(),
});

/** A successor waits for the lease of a dead process, so it is short here. */
const leaseMs = 1_000;

/** Every commit is flushed, as in production. */
export async function openPostgresLedgers(): Promise<Ledgers> {
  const server = await PgServer.create({ settings: ['max_connections = 200'] });
  return {
    create: (name) => schemaUrl(server.url, name),
    server,
    close: () => server.remove(),
  };
}

/** The URL of a ledger in a schema of its own. */
export const schemaUrl = (server: string, name: string): string =>
  `${server}?schema=crash_${name.replaceAll('-', '_')}&owner_lease_ms=${leaseMs}`;
