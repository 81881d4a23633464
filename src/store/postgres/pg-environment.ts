/**
 * The driver reads PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE and the password file itself. This adds the
 * variables that name certificates, which it does not read. It also refuses modes of TLS that the driver does not know:
 * the connection would not be encrypted.
 */
import { QuittanceError } from '../../base/error.ts';
import { sslModes } from './own-parameters.ts';

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
