import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HttpServer, Me } from 'quittance/http';
import { createHttpServer } from 'quittance/http';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const bare = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(new URL(path, app.server.url), { redirect: 'manual', ...init });

test('a link whose head alone was looked at is still good', async () => {
  const link = app.server.loginLink() ?? '';
  const head = await bare(link, { method: 'HEAD' });
  expect([head.status, head.headers.get('set-cookie')]).toEqual([200, null]);
  const opened = await bare(link);
  expect([opened.status, opened.headers.get('location')]).toEqual([303, '/']);
  expect((await bare(link)).status).toBe(401);
});

test('logging in and out says which methods it takes', async () => {
  const allowed = async (path: string, method: string): Promise<[number, string | null]> => {
    const { status, headers } = await bare(path, { method });
    return [status, headers.get('allow')];
  };
  expect(await allowed('/login', 'PUT')).toEqual([405, 'GET, POST']);
  expect(await allowed('/logout', 'GET')).toEqual([405, 'POST']);
});

test('a browser that came in under one name is let in again under that name, and under no other', async () => {
  const { ledger, runtime, ledgerPath } = app;
  const set = (await bare(app.server.loginLink() ?? '')).headers.get('set-cookie') ?? '';
  const secret = /=(qt_[\w-]+)/.exec(set)?.[1] ?? '';
  const startAs = (localName: string): Promise<HttpServer> =>
    createHttpServer({ ledger, runtime, ledgerUrl: ledgerPath, port: 0, localName });
  const whoIs = async (server: HttpServer): Promise<string | number> => {
    const cookie = `quittance-${server.port}=${secret}`;
    const answer = await fetch(`${server.url}/v1/me`, { headers: { cookie } });
    return answer.ok ? ((await answer.json()) as Me).name : answer.status;
  };
  const [ada, bob] = [await startAs('ada'), await startAs('bob')];
  try {
    expect([await whoIs(ada), await whoIs(bob)]).toEqual(['ada', 401]);
  } finally {
    await ada.close();
    await bob.close();
  }
});

test('whoever followed another ledger is told so, instead of waiting for ever', async () => {
  const headers = { authorization: `Bearer ${app.tokens.viewer}` };
  for (const [path, more] of [
    ['/v1/events?after=999999', {}],
    ['/v1/events', { 'last-event-id': '999999' }],
    ['/v1/events?after=999999', { accept: 'application/json' }],
  ] as const) {
    const answer = await bare(path, { headers: { ...headers, ...more } });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Begin again')]);
  }
});

test('a page of the feed has a tag that saves sending it again', async () => {
  await app.ask('f1', 'read_note', { id: '1' });
  const headers = { authorization: `Bearer ${app.tokens.viewer}`, accept: 'application/json' };
  const etag = (await bare('/v1/events?limit=1', { headers })).headers.get('etag') ?? '';
  const again = await bare('/v1/events?limit=1', { headers: { ...headers, 'if-none-match': etag } });
  expect([etag !== '', again.status]).toEqual([true, 304]);
});
