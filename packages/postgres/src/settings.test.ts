import { expect, test } from 'vitest';
import { withPgEnvironment, readSettings } from './settings.ts';

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
  ['off', env, 'off'],
  [
    'postgres://h/db?sslmode=disable&listen=postgres%3A%2F%2Fd%2Fdb',
    { ...env, PGSSLKEY: '' },
    `postgres://h/db?sslmode=disable&listen=${encodeURIComponent('postgres://d/db?sslrootcert=%2Fetc%2Fca.pem&sslmode=verify-full')}`,
  ],
])('%s with %o', (url, given, expected) => {
  expect(withPgEnvironment(url, given)).toBe(expected);
});

test('a mode of TLS that the driver does not know is refused: the connection would not be encrypted', () => {
  expect(() => withPgEnvironment('postgres://h/db', { PGSSLMODE: 'verify_full' })).toThrow(
    expect.objectContaining({
      code: 'config.invalid',
      message: expect.stringMatching(/verify_full.*verify-full/),
    }),
  );
  expect(withPgEnvironment('postgres://h/db?sslmode=require', { PGSSLMODE: 'verify_full' })).toBe(
    'postgres://h/db?sslmode=require',
  );
});

test.each([
  ['require', 'verify-full'],
  ['prefer', 'verify-full'],
  ['verify-ca', 'verify-full'],
  ['no-verify', 'no-verify'],
  ['disable', 'disable'],
  ['require&uselibpqcompat=true', 'require'],
])('sslmode=%s reaches the driver as %s', (mode, expected) => {
  const { urls } = readSettings(`postgres://h/db?sslmode=${mode}`, {});
  expect(new URL(urls[0]).searchParams.get('sslmode')).toBe(expected);
});
