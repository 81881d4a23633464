/** Reads the URL of a ledger in PostgreSQL. A mistake in it throws before anything connects. */
import { endSentence } from '../../base/end-sentence.ts';
import { QuittanceError } from '../../base/error.ts';
import type { PgSettings } from './pg-driver.ts';
import { splitHosts } from './split-hosts.ts';
import type { PostgresLedgerOptions } from './postgres-ledger-options.ts';
import { findParameterMistake, ownParameters, pinSslMode } from './own-parameters.ts';

export type PostgresSettings = PgSettings & {
  readonly schema: string;
  /** For the connection that listens and holds the owner's lock. `own`: the main ones. `off`: there is none. */
  readonly listenUrls: PgSettings['urls'] | 'own' | 'off';
  readonly writers: number;
  readonly readers: number;
  readonly leaseMs: number;
  readonly maxQueued: number;
  readonly outageWaitMs: number;
  /** The handle only reads, also from a standby. */
  readonly readOnly: boolean;
};

/**
 * PostgreSQL cuts names off after 63 characters, so two of them could become one. The schema is also the beginning of the
 * names of roles, and the end of the name of the channel.
 */
const longestSchema = 63 - Math.max('_approver'.length, 'quittance_'.length);
const mostConnections = 64;

export function readSettings(url: string, options: PostgresLedgerOptions): PostgresSettings {
  const parsed = splitHosts(url).map(parse);
  const own = new Map<string, string>();
  for (const one of parsed)
    for (const name of ownParameters) {
      const value = one.searchParams.get(name);
      if (value !== null) own.set(name, value);
      one.searchParams.delete(name);
    }
  const schema = options.schema ?? own.get('schema') ?? 'quittance';
  if (!/^[a-z_][a-z0-9_]*$/.test(schema) || schema.length > longestSchema || schema.startsWith('pg_'))
    throw invalid(
      `The schema ${JSON.stringify(schema)} of a PostgreSQL ledger must be a name of a-z, 0-9 and _ with at most ` +
        `${longestSchema} characters. It must not begin with pg_ or a digit.`,
    );
  return {
    urls: hrefs(parsed),
    listenUrls: readListen(options.listen ?? own.get('listen')),
    schema,
    applicationName: 'quittance',
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 30_000,
    writers: readCount('writers', options.writers ?? numberIn(own, 'writers'), 2),
    readers: readCount('readers', options.readers ?? numberIn(own, 'readers'), 4),
    leaseMs: readWhole(
      'ownerLeaseMs',
      options.ownerLeaseMs ?? numberIn(own, 'owner_lease_ms'),
      15_000,
      shortestLeaseMs,
    ),
    maxQueued: readWhole('maxQueued', options.maxQueued, 50_000, 1),
    outageWaitMs: readWhole('outageWaitMs', options.outageWaitMs, 10_000, 0),
    readOnly: options.readOnly === true,
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
  const mistake = findParameterMistake(parsed.searchParams);
  if (mistake !== undefined) throw invalid(endSentence(`The URL of the PostgreSQL ledger ${mistake}`));
  pinSslMode(parsed.searchParams);
  return parsed;
}

/** Why a URL cannot be read. Quotes nothing of it: a password with a slash looks like a host with a port. */
function findMistake(url: string): string {
  const authority = /^[^/]*\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (!authority.includes('@') && url.includes('@'))
    return 'has a /, ? or # in the user name or the password; write them as %2F, %3F and %23';
  if (host === '' || host.startsWith(':')) return 'names no host';
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

const hrefs = ([first, ...others]: readonly URL[]): PgSettings['urls'] => [
  first?.href ?? '',
  ...others.map(({ href }) => href),
];

function readListen(listen: string | false | undefined): PostgresSettings['listenUrls'] {
  if (listen === undefined) return 'own';
  return listen === false || listen === 'off' ? 'off' : hrefs(splitHosts(listen).map(parse));
}

const numberIn = (own: ReadonlyMap<string, string>, name: string): number | undefined => {
  const value = own.get(name);
  return value === undefined ? undefined : Number(value);
};

const shortestLeaseMs = 100;

function readWhole(name: string, value: number | undefined, byDefault: number, least: number): number {
  const number = value ?? byDefault;
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw invalid(`${name} must be a whole number of at least ${least}; found ${String(value)}.`);
}

function readCount(name: string, value: number | undefined, byDefault: number): number {
  const count = value ?? byDefault;
  if (Number.isInteger(count) && count >= 1 && count <= mostConnections) return count;
  throw invalid(`${name} must be a whole number from 1 to ${mostConnections}; found ${String(value)}.`);
}

/** A name such as `user` is a word of SQL unless it is quoted. */
export const quoteSchema = (schema: string): string => `"${schema}"`;

/** Never shows the URL: it may contain a password. */
const invalid = (message: string): QuittanceError => new QuittanceError('config.invalid', message);
