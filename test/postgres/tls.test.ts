/** TLS and passwords from the URL and from the usual environment. */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from 'quittance/ledger';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { PgServer } from './pg-server.ts';
import { selfSigned } from './self-signed.ts';
import { sharePostgres } from './shared-postgres.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-tls-'));

beforeEach(() => {
  vi.stubEnv('QUITTANCE_SEAL_KEY', 'ab'.repeat(32));
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = async (url: string): Promise<void> => {
  const ledger = await openLedger(url, { spillFolder: join(folder, 'spill') });
  await lastPosition(ledger);
  await ledger.close();
};

describe('a server with TLS', () => {
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')];
  let server: PgServer;

  beforeAll(async () => {
    const made = selfSigned();
    writeFileSync(key, made.key, { mode: 0o600 });
    writeFileSync(certificate, made.certificate);
    if (process.getuid?.() === 0) {
      // The server runs as another user, which must own its key.
      const [uid, gid] = ['-u', '-g'].map((of) =>
        Number(execFileSync('id', [of, 'postgres'], { encoding: 'utf8' })),
      );
      chownSync(key, uid ?? 0, gid ?? 0);
      execFileSync('chmod', ['755', folder]);
    }
    server = await PgServer.create({
      settings: ['ssl = on', `ssl_key_file = '${key}'`, `ssl_cert_file = '${certificate}'`],
    });
  });
  afterAll(() => server.remove());

  const urlWith = (parameters: string): string => `${server.url}?schema=tls&${parameters}`;
  const usesTls = async (url: string): Promise<boolean> => {
    const ledger = await openLedger(`${url}&application_name=tls_test`, {
      spillFolder: join(folder, 'spill'),
    });
    vi.stubEnv('PGSSLMODE', undefined); // for the client of the test
    const rows = await server.query(
      `SELECT bool_and(s.ssl) AS ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
       WHERE a.application_name = 'tls_test'`,
    );
    await ledger.close();
    return rows[0]?.['ssl'] === true;
  };

  test('is trusted by a certificate in the URL, or in the environment', async () => {
    expect(await usesTls(urlWith(`sslmode=verify-full&sslrootcert=${certificate}`))).toBe(true);
    vi.stubEnv('PGSSLROOTCERT', certificate);
    expect(await usesTls(urlWith('sslmode=verify-full'))).toBe(true);
    vi.stubEnv('PGSSLMODE', 'verify-full');
    expect(await usesTls(urlWith('writers=1'))).toBe(true);
  });

  test('is refused without its certificate, unless nothing is to be verified', async () => {
    await expect(open(urlWith('sslmode=verify-full'))).rejects.toMatchObject({
      code: 'ledger.unavailable',
      message: expect.stringContaining('self-signed'),
    });
    expect(await usesTls(urlWith('sslmode=no-verify'))).toBe(true);
    expect(await usesTls(urlWith('sslmode=disable'))).toBe(false);
  });
});

test('the password comes from PGPASSWORD or from the password file', async () => {
  const url = new URL((await sharePostgres()).url);
  const { password, port } = url;
  url.password = '';
  url.searchParams.set('schema', `password_${process.pid}`);
  await expect(open(url.href)).rejects.toMatchObject({ code: 'ledger.unavailable' });
  vi.stubEnv('PGPASSWORD', password);
  await open(url.href);
  vi.stubEnv('PGPASSWORD', undefined);
  const file = join(folder, 'pgpass');
  writeFileSync(file, `127.0.0.1:${port}:*:*:${password}\n`, { mode: 0o600 });
  vi.stubEnv('PGPASSFILE', file);
  await open(url.href);
});
