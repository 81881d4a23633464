/** What to do about a failure of a PostgreSQL server or of the way to it. For developers: no model reads it. */
import { sqlStateOf } from './pg-driver.ts';

/** By the code that PostgreSQL gave, or by its first two characters. */
const byState: Readonly<Record<string, string>> = {
  '28': 'Check the user and the password: in the URL, in PGUSER and PGPASSWORD, or in the password file.',
  '3D000': 'Create the database, or correct its name in the URL.',
  '25006':
    'The server takes no writes. Use the URL of the primary, or of all servers. If the database was set to read only, ' +
    'see `SHOW default_transaction_read_only`.',
  '42501':
    'Give the role of the URL its rights: run the script of `quittance migrate --roles`, then grant it one of these roles.',
  '53100': 'Free space on the disk of the server. Calls go on by themselves then.',
  '53200': 'The server has too little memory. Give it more, or lower max_connections or work_mem.',
  '53300':
    'Raise max_connections of the server or the limit of the role, use fewer connections, or a pooler.',
  '55P03': 'Another transaction holds a lock. Look for it in pg_stat_activity, or raise lock_timeout.',
  '57014': 'Raise statement_timeout of the role, or see in pg_stat_activity what slows the server down.',
  '57P': 'The server stops or starts. Try again when it runs.',
  '40': 'Transactions got in the way of each other too often. Try again.',
};

/** By the code that Node gave. */
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start the server, or correct the host and the port of the URL.',
  ENOENT: 'Start the server, or correct the folder of its socket in the URL.',
  ENOTFOUND: 'Correct the host of the URL.',
  EAI_AGAIN: 'The name of the host could not be looked up. Check the network of this machine.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host. Use the name that it has in the URL.',
  CERT_HAS_EXPIRED: 'Renew the certificate of the server.',
};

/** By the words of the driver, which gives no code. */
const byWords: readonly (readonly [RegExp, string])[] = [
  [
    /self.signed certificate|unable to verify|unable to get (?:local )?issuer/i,
    'Name the certificate of its authority with sslrootcert in the URL, or with PGSSLROOTCERT.',
  ],
  [/does not support SSL/i, 'Turn TLS on in the server, or write sslmode=disable in the URL.'],
  [
    /password must be a string/i,
    'The server asks for a password: give one in the URL, in PGPASSWORD or in the password file.',
  ],
  [/is a standby/i, 'No server of the URL takes writes. Promote one, or correct the hosts.'],
  [/query read timeout/i, 'The server did not answer in time. See in pg_stat_activity what it waits for.'],
  [
    /timeout|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/i,
    'Check the network and the firewall between this machine and the server.',
  ],
  [
    /terminated unexpectedly|ECONNRESET|EPIPE/i,
    'Check that a PostgreSQL server listens there, and what its log says.',
  ],
];

export function adviceFor(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== undefined)
    return (
      byState[state] ??
      byState[state.slice(0, 3)] ??
      byState[state.slice(0, 2)] ??
      'See the log of the server.'
    );
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string };
  return (
    byCode[code] ??
    byWords.find(([words]) => words.test(`${code} ${message}`))?.[1] ??
    'Check the URL of the ledger, and the log of the server.'
  );
}
