import { expect, test } from 'vitest';
import { withPgEnvironment } from './pg-environment.ts';

const env = {
  PGSSLMODE: 'verify-full',
  PGSSLROOTCERT: '/etc/ca.pem',
  PGSSLCERT: '',
  PGSSLKEY: '/etc/k y.pem',
};

test.each([
  ['postgres://u:p@h/db', {}, 'postgres://u:p@h/db'],
  ['postgres://u:p@h/db', { PGSSLROOTCERT: '/etc/ca.pem' }, 'postgres://u:p@h/db'],
  ['postgres://u:p@h/db?sslmode=disable', env, 'postgres://u:p@h/db?sslmode=disable'],
  [
    'postgres://u:p@h1:1,h2:2/db?schema=a',
    env,
    'postgres://u:p@h1:1,h2:2/db?schema=a&sslrootcert=%2Fetc%2Fca.pem&sslmode=verify-full&sslkey=%2Fetc%2Fk+y.pem',
  ],
  [
    'postgres://h/db?sslmode=no-verify&sslrootcert=mine.pem',
    { ...env, PGSSLKEY: '' },
    'postgres://h/db?sslmode=no-verify&sslrootcert=mine.pem',
  ],
  ['postgres://h/db?sslrootcert=system', {}, 'postgres://h/db?sslmode=verify-full'],
  ['postgres://h/db', { PGSSLMODE: 'require', PGSSLROOTCERT: 'system' }, 'postgres://h/db'],
])('%s with %o', (url, given, expected) => {
  expect(withPgEnvironment(url, given)).toBe(expected);
});
