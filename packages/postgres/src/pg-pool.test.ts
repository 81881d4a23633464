import { expect, test } from 'vitest';
import { adviceFor } from './pg-pool.ts';

const refusal = (code: string): Error => Object.assign(new Error('refused'), { code, severity: 'ERROR' });
const failure = (code: string, message = code): Error => Object.assign(new Error(message), { code });

test.each([
  ['a wrong password', refusal('28P01'), 'password'],
  ['a missing database', refusal('3D000'), 'database'],
  ['a standby', refusal('25006'), 'primary'],
  ['missing rights', refusal('42501'), 'quittance migrate --roles'],
  ['a full disk', refusal('53100'), 'disk'],
  ['no free connection', refusal('53300'), 'max_connections'],
  ['a server that stops', refusal('57P01'), 'Try again'],
  ['a statement that took too long', refusal('57014'), 'statement_timeout'],
  ['serialization failures', refusal('40001'), 'Try again'],
  ['anything else that the server refuses', refusal('XX000'), 'log of the server'],
  ['a server that does not run', failure('ECONNREFUSED'), 'Start the server'],
  ['an unknown host', failure('ENOTFOUND'), 'host of the URL'],
  [
    'an unknown certificate',
    failure('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'),
    'sslrootcert',
  ],
  ['a server without TLS', new Error('The server does not support SSL connections'), 'sslmode=disable'],
  ['a silent network', new Error('timeout expired'), 'firewall'],
  ['a slow statement', new Error('Query read timeout'), 'pg_stat_activity'],
  [
    'another program at this port',
    new Error('Connection terminated unexpectedly'),
    'PostgreSQL server listens',
  ],
  ['several standbys', new Error('one:5432: the server is a standby'), 'takes writes'],
  ['anything else', new Error('hm'), 'URL of the ledger'],
])('says what to do about %s', (_, error, words) => {
  expect(adviceFor(error)).toContain(words);
});
