/** Clients without a valid token: how often they may try, and from where. */
import { afterEach, describe, expect, test } from 'vitest';
import { createRuntime } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { HttpServerOptions } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer | undefined;
afterEach(() => app?.close());

/** So slow that nothing is refilled during a test. */
const threeTries = { limits: { strangerRate: { perSecond: 0.01, burst: 3 } } };

/** The answers to five requests in a row. */
async function tryFive(server: TestServer, path: string, init: RequestInit = {}): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < 5; n++)
    statuses.push((await fetch(server.server.url + path, { redirect: 'manual', ...init })).status);
  return statuses;
}

describe('a client that guesses is asked to wait', () => {
  test.each([
    ['without a token', '/v1/me', {}],
    ['with a wrong one', '/v1/me', { headers: { authorization: 'Bearer qt_guessed' } }],
    ['with a wrong cookie', '/v1/me', { headers: { cookie: 'quittance-1=qt_guessed' } }],
    ['with a wrong login link', '/login?code=guessed', {}],
  ] as const)('%s', async (_how, path, init) => {
    app = await startServer(threeTries);
    expect(await tryFive(app, path, init)).toEqual([401, 401, 401, 429, 429]);
    // A known client is not delayed by unknown ones, even from the same address. Neither is a monitor.
    expect((await app.get('/v1/me')).status).toBe(200);
    for (const probe of ['/healthz', '/readyz'])
      expect(await tryFive(app, probe)).toEqual([200, 200, 200, 200, 200]);
  });

  test('a client that guesses is asked to wait at the login page', async () => {
    app = await startServer(threeTries);
    const form = {
      method: 'POST',
      headers: { origin: app.server.url, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=qt_guessed',
    };
    expect(await tryFive(app, '/login', form)).toEqual([401, 401, 401, 429, 429]);
  });

  test('a client that guesses is asked to wait and an invalid decision link is such a guess', async () => {
    app = await startServer(threeTries);
    const guess = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: 'qdt1.x.y', decision: 'approve', by: 'Eve' }),
    };
    expect(await tryFive(app, '/v1/decisions', guess)).toEqual([403, 403, 403, 429, 429]);
  });
});

test.each<[string, Partial<HttpServerOptions>]>([
  ['no address', { publicUrl: 'quittance' }],
  ['one of another kind', { publicUrl: 'ftp://quittance.example.org' }],
  ['one with a path', { publicUrl: 'https://example.org/quittance' }],
  ['one with a secret', { publicUrl: 'https://ada:pw@example.org' }],
  ['a host that is an address', { allowHosts: ['https://example.org'] }],
  ['a host that is two', { allowHosts: ['a b'] }],
])('a server does not start with the host name %s', async (_what, names) => {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [], ledger });
  const starting = createHttpServer({ ledger, runtime, port: 0, ...names });
  await expect(starting).rejects.toMatchObject({ code: 'config.invalid' });
  await runtime.close();
});

test('a server answers under its configured names', async () => {
  const names = { publicUrl: 'https://Quittance.example.org/', allowHosts: ['10.0.0.5:8080', '[fe80::1]'] };
  app = await startServer(names);
  const statusAs = async (host: string): Promise<number> =>
    (await app?.server.fetch(new Request('http://x/login', { headers: { host } })))?.status ?? 0;
  for (const host of ['quittance.example.org', '10.0.0.5:8080', '[fe80::1]', `127.0.0.1:${app.server.port}`])
    expect([host, await statusAs(host)]).toEqual([host, 200]);
  expect(await statusAs('10.0.0.5')).toBe(421);
});

test('a server listens on this machine only by default', async () => {
  app = await startServer();
  expect(new URL(app.server.url).hostname).toBe('127.0.0.1');
});
