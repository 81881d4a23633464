import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HttpServer, Me } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import { createManualClock } from 'quittance/testing';
import { tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const bare = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(new URL(path, app.server.url), { redirect: 'manual', ...init });

/** What the button does on the page that a link opens. */
const confirm = (link: string, origin = app.server.url): Promise<Response> =>
  fetch(new URL('/login', link), {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body: new URLSearchParams({ code: new URL(link).searchParams.get('code') ?? '' }),
  });

/** The headers that a page sends after a login by a link. */
async function logIn(): Promise<{ readonly cookie: string; readonly 'x-quittance-page-key': string }> {
  const { headers } = await confirm(app.server.loginLink() ?? '');
  return {
    cookie: headers.get('set-cookie')?.split(';')[0] ?? '',
    'x-quittance-page-key': headers.get('location')?.split('#page-key=')[1] ?? '',
  };
}

test('opening a link changes nothing: the button on its page logs in, once', async () => {
  const link = app.server.loginLink() ?? '';
  const before = readFileSync(tokenFilePath(app.ledgerPath), 'utf8');
  for (const method of ['HEAD', 'GET', 'GET', 'HEAD']) {
    const seen = await bare(link, { method });
    expect([seen.status, seen.headers.get('set-cookie')]).toEqual([200, null]);
  }
  expect(await (await bare(link)).text()).toContain('Log in as ada');
  expect(readFileSync(tokenFilePath(app.ledgerPath), 'utf8')).toBe(before);
  const opened = await confirm(link);
  expect([opened.status, opened.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(/^\/login\/done#page-key=qt_[\w-]{43}$/),
  ]);
  expect((await bare(link)).status).toBe(401);
  expect((await confirm(link)).status).toBe(401);
});

test('another site can neither press the button nor change its text', async () => {
  const link = app.server.loginLink() ?? '';
  expect((await confirm(link, 'https://evil.example')).status).toBe(403);
  const page = await bare(`/login?code=${encodeURIComponent('"><script>')}`);
  expect([page.status, (await page.text()).includes('<script>')]).toEqual([401, false]);
  expect((await confirm(link)).status).toBe(303);
});

test('a link that was not opened within 15 minutes is invalid', async () => {
  const clock = createManualClock(1_000_000);
  const other = await startServer({}, clock);
  try {
    const open = (link = ''): Promise<Response> => confirm(link, other.server.url);
    const [inTime, tooLate] = [other.server.loginLink(), other.server.loginLink()];
    clock.advance(15 * 60_000 - 1);
    expect((await open(inTime)).status).toBe(303);
    clock.advance(1);
    const late = await open(tooLate);
    expect([late.status, late.headers.get('set-cookie')]).toEqual([401, null]);
  } finally {
    await other.close();
  }
});

test('a cookie is sent over TLS only if the public URL has TLS', async () => {
  const cookieOf = async (publicUrl: string): Promise<string> => {
    const other = await startServer({ publicUrl });
    try {
      const link = other.server.loginLink() ?? '';
      const { host } = new URL(publicUrl);
      const opened = await other.server.fetch(
        new Request(new URL('/login', link), {
          method: 'POST',
          headers: { host, origin: publicUrl, 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ code: new URL(link).searchParams.get('code') ?? '' }),
        }),
      );
      return opened.headers.get('set-cookie') ?? '';
    } finally {
      await other.close();
    }
  };
  expect(await cookieOf('https://quittance.example.org')).toMatch(/=qt_.*; Secure$/);
  expect(await cookieOf('http://quittance.example.org')).toMatch(/=qt_[^;]+;(?!.*Secure)/);
});

test('a login needs a form of this server’s own page, and a small one', async () => {
  const { url } = app.server;
  const logIn = async (headers: Record<string, string>, more = ''): Promise<[number, boolean]> => {
    const body = `token=${app.tokens.viewer}${more}`;
    const answer = await bare('/login', { method: 'POST', headers, body });
    return [answer.status, answer.headers.has('set-cookie')];
  };
  expect(await logIn({ origin: url })).toEqual([303, true]);
  expect(await logIn({})).toEqual([403, false]);
  expect(await logIn({ origin: url }, `&more=${'x'.repeat(5_000)}`)).toEqual([413, false]);
});

test('another site cannot log a person out', async () => {
  const login = await logIn();
  const { cookie } = login;
  for (const headers of [
    { ...login, origin: 'https://evil.example' },
    { cookie, origin: app.server.url },
    { cookie },
  ])
    expect((await bare('/logout', { method: 'POST', headers })).status).toBe(403);
  // A made-up page key logs out neither this browser nor another.
  const madeUp = { cookie, origin: app.server.url, 'x-quittance-page-key': 'qt_made-up' };
  expect((await bare('/logout', { method: 'POST', headers: madeUp })).status).toBe(204);
  expect((await bare('/v1/me', { headers: login })).status).toBe(200);
});

test('the login and logout routes list their methods', async () => {
  const allowed = async (path: string, method: string): Promise<[number, string | null]> => {
    const { status, headers } = await bare(path, { method });
    return [status, headers.get('allow')];
  };
  expect(await allowed('/login', 'PUT')).toEqual([405, 'GET, POST']);
  expect(await allowed('/logout', 'GET')).toEqual([405, 'POST']);
});

test('a browser login under one name is valid under that name only', async () => {
  const { ledger, runtime, ledgerPath } = app;
  const login = await logIn();
  const secret = login.cookie.split('=')[1] ?? '';
  const startAs = (localName: string): Promise<HttpServer> =>
    createHttpServer({ ledger, runtime, ledgerUrl: ledgerPath, port: 0, localName });
  const whoIs = async (server: HttpServer): Promise<string | number> => {
    const cookie = `quittance-${server.port}=${secret}`;
    const answer = await fetch(`${server.url}/v1/me`, { headers: { ...login, cookie } });
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

test('a browser sends the cookies of every server on the machine, and this one reads its own', async () => {
  const login = await logIn();
  const own = login.cookie;
  const secret = own.split('=')[1] ?? '';
  const status = async (cookie: string): Promise<number> =>
    (await bare('/v1/me', { headers: { ...login, cookie } })).status;
  expect(await status(`quittance-1=qt_of-another; ${own}; quittance-2=qt_of-a-third`)).toBe(200);
  expect(await status(`quittance-1=${secret}`)).toBe(401);
  expect(await status(`x${own}`)).toBe(401);
  // Another port may set a cookie of our name for a longer path, which browsers send first.
  const name = own.split('=')[0] ?? '';
  expect(await status(`${name}=qt_tossed; ${name}=; ${own}`)).toBe(200);
  expect(await status(`${name}=qt_tossed`)).toBe(401);
});

test('a cookie without the page key of the same login is anonymous, for reading and for changing', async () => {
  const [mine, other] = [await logIn(), await logIn()];
  const { origin } = new URL(app.server.url);
  const asked: readonly (readonly [string, string, string?])[] = [
    ['GET', '/v1/me'],
    ['GET', '/v1/calls'],
    ['GET', '/v1/events?after=now'],
    ['GET', '/v1/export'],
    ['POST', '/v1/verify', '{}'],
    ['POST', '/v1/confirmations/x/decision', '{"decision":"approve"}'],
  ];
  const stolen: readonly Record<string, string>[] = [
    { cookie: mine.cookie },
    { cookie: mine.cookie, 'x-quittance-request': '1' },
    { ...mine, 'x-quittance-page-key': '' },
    { ...mine, 'x-quittance-page-key': other['x-quittance-page-key'] },
    { ...mine, 'x-quittance-page-key': mine.cookie.split('=')[1] ?? '' },
    { 'x-quittance-page-key': mine['x-quittance-page-key'] },
  ];
  for (const [method, path, body] of asked)
    for (const headers of stolen) {
      const sent = {
        ...headers,
        origin,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      };
      const { status } = await bare(path, { method, headers: sent, ...(body !== undefined && { body }) });
      expect([path, headers, status]).toEqual([path, headers, 401]);
    }
  expect((await bare('/v1/me', { headers: mine })).status).toBe(200);
});

test('a login of an older version, without a page key, has ended', async () => {
  const login = await logIn();
  const path = tokenFilePath(app.ledgerPath);
  const written = readFileSync(path, 'utf8');
  writeFileSync(path, written.replaceAll(/\s*"keyHash": "\w+",/g, ''), { mode: 0o600 });
  try {
    expect((await bare('/v1/me', { headers: login })).status).toBe(401);
    const authorization = `Bearer ${app.tokens.viewer}`;
    expect((await bare('/v1/me', { headers: { authorization } })).status).toBe(200);
  } finally {
    writeFileSync(path, written, { mode: 0o600 });
  }
});

test('a form downloads what its login may read, and only from this server', async () => {
  const login = await logIn();
  const origin = app.server.url;
  const download = async (
    fields: Record<string, string>,
    headers: Record<string, string> = { origin },
  ): Promise<[number, string | null]> => {
    const answer = await bare('/download', {
      method: 'POST',
      headers: { cookie: login.cookie, ...headers },
      body: new URLSearchParams(fields),
    });
    await answer.body?.cancel();
    return [answer.status, answer.headers.get('content-disposition')];
  };
  const key = { 'page-key': login['x-quittance-page-key'] };
  const file = 'attachment; filename="ledger.jsonl"';
  expect(await download({ path: '/v1/export', ...key })).toEqual([200, file]);
  expect(await download({ path: '/v1/calls', ...key })).toEqual([200, 'attachment']);
  expect(await download({ path: '/v1/export' })).toEqual([401, null]);
  expect(await download({ path: '/v1/export', 'page-key': 'qt_x' })).toEqual([401, null]);
  expect(await download({ path: '/v1/export', ...key }, { origin: 'http://127.0.0.1:1' })).toEqual([
    403,
    null,
  ]);
  expect(await download({ path: '/v1/export', ...key }, {})).toEqual([403, null]);
  for (const path of ['https://evil.example/v1/export', '//evil.example/v1/x', '/login', '/', '/v1/../login'])
    expect(await download({ path, ...key })).toEqual([400, null]);
});

test('no answer of the API is stored in a cache', async () => {
  const authorization = `Bearer ${app.tokens.admin}`;
  type Ask = { readonly method?: string; readonly headers?: Readonly<Record<string, string>> };
  const ask = (path: string, init: Ask = {}): Promise<Response> =>
    bare(path, { ...init, headers: { authorization, ...init.headers } });
  const { headers } = await ask('/v1/calls');
  const etag = headers.get('etag') ?? '';
  const asked: readonly (readonly [string, Ask?])[] = [
    ['/v1/calls'],
    ['/v1/calls', { headers: { 'if-none-match': etag } }],
    ['/v1/sessions/none'],
    ['/v1/calls', { method: 'POST' }],
    ['/v1/metrics'],
    ['/v1/openapi.json'],
    ['/v1/heads'],
    ['/v1/export'],
    ['/v1/sessions/s1/artifacts/none'],
    ['/livez'],
    ['/login'],
    ['/no-such-page'],
  ];
  for (const [path, init] of asked)
    expect([path, (await ask(path, init)).headers.get('cache-control')]).toEqual([path, 'no-store']);
  expect(headers.get('vary')).toBe('authorization, cookie, x-quittance-page-key');
});

test('a follower of another ledger gets an error, instead of waiting for ever', async () => {
  const headers = { authorization: `Bearer ${app.tokens.viewer}` };
  for (const [path, more] of [
    ['/v1/events?after=999999', {}],
    ['/v1/events', { 'last-event-id': '999999' }],
    ['/v1/events?after=999999', { accept: 'application/json' }],
  ] as const) {
    const answer = await bare(path, { headers: { ...headers, ...more } });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Start again')]);
  }
});

test('a page of the feed has an ETag that avoids sending it again', async () => {
  await app.ask('f1', 'read_note', { id: '1' });
  const headers = { authorization: `Bearer ${app.tokens.viewer}`, accept: 'application/json' };
  const etag = (await bare('/v1/events?limit=1', { headers })).headers.get('etag') ?? '';
  const again = await bare('/v1/events?limit=1', { headers: { ...headers, 'if-none-match': etag } });
  expect([etag !== '', again.status]).toEqual([true, 304]);
});
