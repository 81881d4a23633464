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
  if (!/^postgres(ql)?:\/\//i.test(url)) throw badUrl('does not begin with postgres://');
  const parsed = URL.parse(url);
  if (parsed === null) throw badUrl(findMistake(url));
  if (parsed.hash !== '') throw badUrl('contains a #; write it as %23');
  if (parsed.host === '' && parsed.username !== '') throw badUrl('names a user but no host');
  for (const part of [parsed.username, parsed.password, parsed.hostname, parsed.pathname])
    if (!canDecode(part))
      throw badUrl('contains a % that is not followed by two hex digits; write it as %25');
  const mode = parsed.searchParams.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    throw invalid(
      `The URL of the PostgreSQL ledger has an unknown sslmode. Known modes: ${sslModes.join(', ')}.`,
    );
  return parsed;
}

const sslModes: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** Why a URL cannot be read. Quotes nothing of it: a password with a slash looks like a host with a port. */
function findMistake(url: string): string {
  const authority = /^[^/]*\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (!authority.includes('@') && url.includes('@'))
    return 'has a /, ? or # in the user name or the password; write them as %2F, %3F and %23';
  if (host === '' || host.startsWith(':')) return 'names no host';
  if (host.includes(',')) return 'names several hosts; name one, for example that of a proxy';
  if (/:\d*$/.test(host)) return 'has a port above 65535';
  if (/:[^\]]*$/.test(host)) return 'has a port that is not a number';
  return 'has a host that cannot be read';
}

function canDecode(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

const badUrl = (why: string): QuittanceError =>
  invalid(
    `The URL of the PostgreSQL ledger ${why}. It must look like postgres://user:password@host:5432/database.`,
  );

function readCount(name: string, value: number | undefined, byDefault: number): number {
  const count = value ?? byDefault;
  if (Number.isInteger(count) && count >= 1 && count <= mostConnections) return count;
  throw invalid(`${name} must be a whole number from 1 to ${mostConnections}; found ${String(value)}.`);
}

/** Never shows the URL: it may contain a password. */
const invalid = (message: string): QuittanceError => new QuittanceError('config.invalid', message);
