/** Reads the URL of a ledger in PostgreSQL. A mistake in it throws before anything connects. */
import { endSentence } from 'quittance/internal/base/end-sentence';
import { QuittanceError } from 'quittance/internal/base/error';
import type { PgSettings } from './pg-driver.ts';
import { isSlipOf } from 'quittance/internal/base/nearest';
import type { PostgresLedgerOptions } from 'quittance/internal/store/postgres-package';

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

/** Throws for a mistake in the URL. Opens nothing. */
export function checkPostgresUrl(url: string): void {
  readSettings(url, {});
}

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

/** The parameters of the URL of a PostgreSQL ledger. Those that are not ours are for the driver, which ignores unknown ones. */

/** Parameters that are ours. */
export const ownParameters = ['schema', 'listen', 'writers', 'readers', 'owner_lease_ms'] as const;

/** Options of `openLedger` that a URL cannot set. */
const optionsOnly = ['spillFolder', 'spillBytes', 'sealKey', 'sealKeyFile', 'readOnly', 'maxQueued'];
const otherOptions = [...optionsOnly, 'outageWaitMs', 'migrate'];

const mostSlips = 2;

export const sslModes: readonly string[] = [
  'disable',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
];

/** Describes the first mistake, as the end of a sentence. Undefined for correct parameters: a typing error must not select another schema. */
export function findParameterMistake(parameters: URLSearchParams): string | undefined {
  const mode = parameters.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    return `has an unknown sslmode. Known modes: ${sslModes.join(', ')}`;
  for (const name of parameters.keys()) {
    if (ownParameters.some((own) => own === name)) continue;
    if (name === 'service') return 'names a service, which the driver cannot look up; write the host instead';
    const meant = ownParameters.find((own) => isSlipOf(name, own, mostSlips));
    if (meant !== undefined)
      return `has an unknown parameter ${JSON.stringify(name)}; did you mean "${meant}"?`;
    if (otherOptions.some((option) => isSame(option, name)))
      return `has the parameter ${JSON.stringify(name)}, which is an option of openLedger and not of a URL`;
  }
  return undefined;
}

const isSame = (option: string, name: string): boolean =>
  option.toLowerCase() === name.toLowerCase().replaceAll('_', '');

/** The driver verifies the certificate in these modes. A later version of it will not, unless the URL says so. */
const verified = new Set(['prefer', 'require', 'verify-ca']);

export function pinSslMode(parameters: URLSearchParams): void {
  if (verified.has(parameters.get('sslmode') ?? '') && parameters.get('uselibpqcompat') !== 'true')
    parameters.set('sslmode', 'verify-full');
}

/**
 * URLs with several hosts, as for a primary and its standbys: `postgres://user@one:5432,two:5433/database`. A process
 * uses the one that takes writes, whichever that is at the moment.
 */

/** One URL per host. A URL that is not of this form is returned as it is. */
export function splitHosts(url: string): readonly [string, ...string[]] {
  const found = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(url);
  const [, scheme = '', authority = '', rest = ''] = found ?? [];
  const at = authority.lastIndexOf('@') + 1;
  const [first, ...others] = authority
    .slice(at)
    .split(',')
    .map((host) => `${scheme}${authority.slice(0, at)}${host}${rest}`);
  return found === null || first === undefined ? [url] : [first, ...others];
}

/**
 * The driver reads PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE and the password file itself. This adds the
 * variables that name certificates, which it does not read. It also refuses modes of TLS that the driver does not know:
 * the connection would not be encrypted.
 */

type Environment = Readonly<Record<string, string | undefined>>;

const certificates = { sslrootcert: 'PGSSLROOTCERT', sslcert: 'PGSSLCERT', sslkey: 'PGSSLKEY' } as const;

/** The URL with the certificates of the environment. Parameters of the URL come first, as everywhere else. */
export function withPgEnvironment(url: string, env: Environment): string {
  if (url === 'off') return url; // no listening connection
  // Not parsed as a URL, because it may name several hosts.
  const [base = '', query = ''] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  const before = parameters.toString();
  // The driver would look for a file of this name. Node trusts the certificates of the system by itself.
  if (parameters.get('sslrootcert') === 'system') {
    parameters.delete('sslrootcert');
    parameters.set('sslmode', 'verify-full');
  }
  addCertificates(parameters, env);
  const listen = parameters.get('listen');
  if (listen !== null) parameters.set('listen', withPgEnvironment(listen, env));
  const after = parameters.toString();
  return after === before ? url : `${base}?${after}`;
}

function addCertificates(parameters: URLSearchParams, env: Environment): void {
  const mode = parameters.get('sslmode') ?? readMode(env);
  if (mode === '' || mode === 'disable') return;
  for (const [name, variable] of Object.entries(certificates)) {
    const path = env[variable] ?? '';
    if (path === '' || path === 'system' || parameters.has(name)) continue;
    parameters.set(name, path);
    // A URL with a certificate overrides PGSSLMODE, so it must say the mode as well.
    parameters.set('sslmode', mode);
  }
}

function readMode(env: Environment): string {
  const mode = env['PGSSLMODE'] ?? '';
  if (mode === '' || sslModes.includes(mode)) return mode;
  throw new QuittanceError(
    'config.invalid',
    `PGSSLMODE is ${JSON.stringify(mode)}, so the connection to PostgreSQL would not be encrypted. Known modes: ${sslModes.join(', ')}.`,
  );
}
