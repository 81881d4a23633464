import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { credentialsPath, readCredential, removeCredential, writeCredential } from './credentials.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-credentials-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('only their owner can read stored credentials, and a file that others can read is refused', () => {
  const env = { XDG_CONFIG_HOME: join(folder, 'config') };
  const path = credentialsPath(env);
  const [first, second] = ['https://a.example', 'https://b.example'];
  writeCredential(env, { server: first, token: 'qt_first' });
  writeCredential(env, { server: second, token: 'qt_second' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  removeCredential(env, second);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readCredential(env, first)).toEqual({ server: first, token: 'qt_first' });
  chmodSync(path, 0o640);
  expect(() => readCredential(env, first)).toThrow('can be read by others');
});
