/**
 * The driver reads PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE and the password file itself. This adds the
 * variables that name certificates, which it does not read.
 */
type Environment = Readonly<Record<string, string | undefined>>;

const certificates = { sslrootcert: 'PGSSLROOTCERT', sslcert: 'PGSSLCERT', sslkey: 'PGSSLKEY' } as const;

/** The URL with the certificates of the environment. Parameters of the URL come first, as everywhere else. */
export function withPgEnvironment(url: string, env: Environment): string {
  const parsed = new URL(url);
  const { searchParams } = parsed;
  // The driver would look for a file of this name. Node trusts the certificates of the system by itself.
  if (searchParams.get('sslrootcert') === 'system') {
    searchParams.delete('sslrootcert');
    searchParams.set('sslmode', 'verify-full');
  }
  const mode = searchParams.get('sslmode') ?? env['PGSSLMODE'] ?? '';
  if (mode === '' || mode === 'disable') return parsed.href;
  const found = Object.entries(certificates).flatMap(([name, variable]) => {
    const path = env[variable] ?? '';
    return path === '' || path === 'system' || searchParams.has(name) ? [] : [[name, path] as const];
  });
  if (found.length === 0) return parsed.href;
  for (const [name, path] of found) searchParams.set(name, path);
  // A URL with a certificate overrides PGSSLMODE, so it must say the mode as well.
  searchParams.set('sslmode', mode);
  return parsed.href;
}
