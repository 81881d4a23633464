/** Reads the URL of a ledger in PostgreSQL. A mistake in it throws before anything connects. */
import { QuittanceError } from '../../base/error.ts';
import type { PgSettings } from './pg-driver.ts';
import type { PostgresLedgerOptions } from './postgres-ledger-options.ts';

export type PostgresSettings = PgSettings & {
  readonly schema: string;
  readonly writers: number;
  readonly readers: number;
  readonly leaseMs: number;
};

/** Longer names PostgreSQL cuts off, so two of them could become one. */
const longestSchema = 63;
const mostConnections = 64;

export function readSettings(url: string, options: PostgresLedgerOptions): PostgresSettings {
  const parsed = parse(url);
  const schema = options.schema ?? parsed.searchParams.get('schema') ?? 'quittance';
  parsed.searchParams.delete('schema');
  if (!/^[a-z_][a-z0-9_]*$/.test(schema) || schema.length > longestSchema || schema.startsWith('pg_'))
    throw invalid(
      `The schema ${JSON.stringify(schema)} of a PostgreSQL ledger must be a name of a-z, 0-9 and _ that does not begin with pg_.`,
    );
  return {
    url: parsed.href,
    schema,
    applicationName: 'quittance',
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 30_000,
    writers: readCount('writers', options.writers, 2),
    readers: readCount('readers', options.readers, 4),
    leaseMs: options.ownerLeaseMs ?? 15_000,
  };
}

function parse(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol)) return parsed;
  throw invalid(
    'The URL of a PostgreSQL ledger must look like postgres://user:password@host:5432/database. Encode special ' +
      'characters of the password as in any URL.',
  );
}

function readCount(name: string, value: number | undefined, byDefault: number): number {
  const count = value ?? byDefault;
  if (Number.isInteger(count) && count >= 1 && count <= mostConnections) return count;
  throw invalid(`${name} must be a whole number from 1 to ${mostConnections}; found ${String(value)}.`);
}

/** Never shows the URL: it may contain a password. */
const invalid = (message: string): QuittanceError => new QuittanceError('config.invalid', message);
