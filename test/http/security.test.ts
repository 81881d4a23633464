import { allows, mayDo } from '../../packages/quittance/src/call/role.ts';
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditPage, CallAnswer, CallPage, Me, Problem, Role, Stats } from '@quittance/server';
import { routes } from '../../packages/server/src/http/routes.ts';
import { tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const everyRole = Object.keys(mayDo) as Role[];
const address = (path: string): string => path.replaceAll(/\{\w+\}/g, 'x');

/** Raw requests, with any headers. */
function bare(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<{
  readonly status: number;
  readonly text: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: app.server.port,
        method,
        path,
        headers,
        setHost: headers['host'] === undefined,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => (text += piece));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

type Login = { readonly cookie: string; readonly 'x-quittance-page-key': string };

/** What a page sends after a login with this answer. */
const loginOf = ({ headers }: { readonly headers: NodeJS.Dict<string | string[]> }): Login => ({
  cookie: String(headers['set-cookie']).split(';')[0] ?? '',
  'x-quittance-page-key': String(headers['location']).split('#page-key=')[1] ?? '',
});

async function logIn(link = app.server.loginLink() ?? ''): Promise<Login> {
  return loginOf(await confirm(link));
}

/** What the button does on the page that a link opens. */
const confirm = (link: string): ReturnType<typeof bare> =>
  bare(
    'POST',
    '/login',
    {
      origin: `http://127.0.0.1:${app.server.port}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    `code=${new URL(link).searchParams.get('code') ?? ''}`,
  );

describe('who may do what', () => {
  test('who may do what without a token every route is closed, except those that reveal nothing or that a link opens', async () => {
    for (const { method, path, access } of routes) {
      const { status } = await bare(
        method,
        address(path),
        { 'content-type': 'application/json' },
        method === 'POST' ? '{}' : undefined,
      );
      expect([path, status === 401]).toEqual([path, access !== 'anyone']);
    }
    expect(routes.filter(({ access }) => access === 'anyone').map(({ path }) => path)).toEqual([
      '/v1/decisions/read',
      '/v1/decisions',
      '/healthz',
      '/readyz',
    ]);
  });

  test('every route is closed to other roles, and open to its own', async () => {
    for (const { method, path, access } of routes) {
      if (access === 'anyone' || path.endsWith('/events') || path === '/v1/verify') continue;
      for (const role of everyRole) {
        const { status, text } = await bare(
          method,
          address(path),
          { authorization: `Bearer ${app.tokens[role]}`, 'content-type': 'application/json' },
          method === 'POST' ? '{"nothing":"fits"}' : undefined,
        );
        const isAllowed = allows(role, access);
        const refused =
          status === 403 && text.includes('"http.forbidden"') && text.includes(`this needs ${access}`);
        expect([role, method, path, refused]).toEqual([role, method, path, !isAllowed]);
      }
    }
  });

  test('a token that makes calls cannot approve them, and one that approves cannot make them', async () => {
    const held = await app.ask<Held>('sep', 'delete_file', { path: '/x' });
    const path = `/v1/confirmations/${held.body.confirmationId}/decision`;
    const decision = { decision: 'approve', inputDigest: held.body.inputDigest };
    expect((await app.post(path, decision, 'operator')).status).toBe(403);
    expect((await app.post('/v1/grants', { sessionId: 's1', toolName: '*' }, 'operator')).status).toBe(403);
    expect(
      (
        await app.post(
          '/v1/calls',
          { sessionId: 's1', call: { id: 'z', name: 'x', arguments: {} } },
          'approver',
        )
      ).status,
    ).toBe(403);
    expect(
      (await app.runtime.confirmations.list({ status: 'pending' })).rows.some(
        ({ callId }) => callId === 'sep',
      ),
    ).toBe(true);
  });

  test('tokens that are wrong, cut, revoked, expired or in the address open nothing', async () => {
    const { tokens, ledgerPath } = app;
    const { TokenFile } = await import('../../packages/server/src/http/token-file.ts');
    const file = new TokenFile(tokenFilePath(ledgerPath), Date.now);
    const over = file.create({ name: 'over', role: 'admin', expiresInMs: -1 }).token;
    const gone = file.create({ name: 'gone', role: 'admin' });
    const me = (token: string): Promise<{ readonly status: number }> =>
      bare('GET', '/v1/me', { authorization: token });
    expect((await me(`Bearer ${gone.token}`)).status).toBe(200);
    file.revoke('gone');
    for (const token of [
      `Bearer ${gone.token}`,
      `Bearer ${over}`,
      `Bearer ${tokens.admin.slice(0, -1)}`,
      `Bearer ${tokens.admin}x`,
      `Basic ${tokens.admin}`,
      'Bearer ',
      'Bearer undefined',
      `Bearer ${'a'.repeat(5_000)}`,
    ])
      expect([token.slice(0, 20), (await me(token)).status]).toEqual([token.slice(0, 20), 401]);
    expect((await bare('GET', `/v1/me?token=${tokens.admin}`, {})).status).toBe(401);
  });

  test('a client whose access ends while it waits for a call to run gets none', async () => {
    const { TokenFile } = await import('../../packages/server/src/http/token-file.ts');
    const file = new TokenFile(tokenFilePath(app.ledgerPath), Date.now);
    const { token } = file.create({ name: 'waiting', role: 'operator' });
    const waiting = bare(
      'POST',
      '/v1/handoffs/claim',
      { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      JSON.stringify({ toolName: 'send_mail', worker: 'w', waitMs: 60_000 }),
    );
    const isIn = async (): Promise<boolean> =>
      (await bare('GET', '/v1/me', { authorization: `Bearer ${token}` })).status === 200;
    expect(await isIn()).toBe(true);
    file.revoke('waiting');
    expect((await waiting).status).toBe(401);
    expect(await isIn()).toBe(false);
  });

  test('the stored form of tokens is useless to a thief, and readable by its owner only', () => {
    const path = tokenFilePath(app.ledgerPath);
    const kept = readFileSync(path, 'utf8');
    for (const token of Object.values(app.tokens)) expect(kept).not.toContain(token);
    expect(statSync(path).mode & 0o077).toBe(0);
  });
});

describe('browsers', () => {
  test('log in with a link that works once, and leave nothing of it in the address', async () => {
    const link = new URL(app.server.loginLink() ?? '');
    const first = await confirm(link.href);
    expect([first.status, String(first.headers.location).split('#')[0]]).toEqual([303, '/login/done']);
    const [cookie = ''] = first.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; /);
    const second = await confirm(link.href);
    expect([second.status, second.headers['set-cookie']]).toEqual([401, undefined]);
    const me = await bare('GET', '/v1/me', loginOf(first));
    expect(JSON.parse(me.text) as Me).toMatchObject({ name: 'ada', role: 'admin', by: 'cookie' });
  });

  test('are logged in with a token from the server’s own page, and out again', async () => {
    const origin = {
      origin: `http://127.0.0.1:${app.server.port}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const wrong = await bare('POST', '/login', origin, 'token=qt_nothing');
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined]);
    const right = await bare('POST', '/login', origin, `token=${app.tokens.viewer}`);
    const login = loginOf(right);
    expect((await bare('GET', '/v1/me', login)).status).toBe(200);
    const foreign = await bare(
      'POST',
      '/login',
      { ...origin, origin: 'https://evil.example' },
      `token=${app.tokens.viewer}`,
    );
    expect([foreign.status, foreign.headers['set-cookie']]).toEqual([403, undefined]);
    await bare('POST', '/logout', { ...origin, ...login });
    expect((await bare('GET', '/v1/me', login)).status).toBe(401);
  });

  test('cannot be made to decide by another site', async () => {
    const login = await logIn();
    const held = await app.ask<Held>('csrf', 'delete_file', { path: '/x' });
    const path = `/v1/confirmations/${held.body.confirmationId}/decision`;
    const body = JSON.stringify({ decision: 'approve', inputDigest: held.body.inputDigest });
    const own = `http://127.0.0.1:${app.server.port}`;
    const json = { ...login, 'content-type': 'application/json' };
    for (const headers of [
      { ...json, origin: 'https://evil.example' },
      { ...json, origin: 'null' },
      { ...json, origin: `${own}.evil.example` },
      { ...json, origin: own, 'sec-fetch-site': 'cross-site' },
      { ...json, origin: own, 'sec-fetch-site': 'same-site' },
      json,
    ]) {
      const { status, text } = await bare('POST', path, headers, body);
      expect([status, (JSON.parse(text) as Problem).code]).toEqual([403, 'http.cross_site']);
    }
    const form = await bare('POST', path, { ...login, origin: own, 'content-type': 'text/plain' }, body);
    expect(form.status).toBe(415);
    expect((await bare('GET', '/v1/calls', { ...login, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const fine = { ...json, origin: own, 'sec-fetch-site': 'same-origin' };
    expect((await bare('POST', path, fine, body)).status).toBe(200);
  });

  test('browsers with another host name are refused: no name can be pointed at the server', async () => {
    const { port } = app.server;
    const authorization = `Bearer ${app.tokens.admin}`;
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      'localhost:1',
      `127.0.0.1.evil.example:${port}`,
    ]) {
      const { status, text } = await bare('GET', '/v1/calls', { host, authorization });
      expect([host, status, (JSON.parse(text) as Problem).code]).toEqual([host, 421, 'http.wrong_host']);
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`])
      expect((await bare('GET', '/v1/calls', { host, authorization })).status).toBe(200);
  });

  test('browsers for a page under a name that two sockets can share are redirected to the address of the server', async () => {
    const { port, url } = app.server;
    expect(url).toBe(`http://127.0.0.1:${port}`);
    for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
      for (const path of [
        '/',
        '/login',
        '/login?code=x',
        '/decide',
        '/calls/s/c?a=b',
        '/quittance-login.js',
      ]) {
        const { status, headers } = await bare('GET', path, { host });
        expect([host, path, status, headers['location']]).toEqual([host, path, 307, `${url}${path}`]);
        expect(headers['set-cookie']).toBeUndefined();
      }
      const form = { host, origin: `http://${host}`, 'content-type': 'application/x-www-form-urlencoded' };
      const login = await bare('POST', '/login', form, `token=${app.tokens.admin}`);
      expect([login.status, (JSON.parse(login.text) as Problem).code]).toEqual([421, 'http.wrong_host']);
      expect(login.headers['set-cookie']).toBeUndefined();
    }
    expect((await bare('GET', '/login', { host: `127.0.0.1:${port}` })).status).toBe(200);
  });

  test('are told not to run, frame or guess anything, on every answer', async () => {
    for (const path of ['/', '/login', '/decide', '/v1/calls', '/healthz', '/nothing.js', '/openapi.json']) {
      const { headers } = await bare('GET', path, {});
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
    // Scripts, styles and connections of this server only; images may also be inline.
    const policy = String((await bare('GET', '/', {})).headers['content-security-policy']);
    for (const directive of policy.split('; '))
      expect(directive).toMatch(/^(?:img-src 'self' data:|[a-z-]+ '(?:self|none)')$/);
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain("base-uri 'none'");
    for (const path of ['/', '/login', '/decide'])
      expect((await bare('GET', path, {})).text).not.toMatch(/<script>|\son\w+=|style=/);
  });
});

describe('decision links', () => {
  const link = async (id: string, more: object = {}): Promise<{ held: Held; token: string; url: string }> => {
    const { body: held } = await app.ask<Held>(id, 'delete_file', { path: `/${id}` });
    const made = await app.post<{ token: string; url: string }>(
      `/v1/confirmations/${held.confirmationId}/link`,
      { expiresInMs: 60_000, ...more },
      'approver',
    );
    return { held, ...made.body };
  };
  const use = (body: object): Promise<{ readonly status: number; readonly text: string }> =>
    bare('POST', '/v1/decisions', { 'content-type': 'application/json' }, JSON.stringify(body));

  test('decide once: a second use names the first person', async () => {
    const { token, url, held } = await link('link1');
    expect(new URL(url).hash).toBe(`#${token}`);
    const read = await bare(
      'POST',
      '/v1/decisions/read',
      { 'content-type': 'application/json' },
      JSON.stringify({ token }),
    );
    expect(JSON.parse(read.text)).toMatchObject({ confirmationId: held.confirmationId, status: 'pending' });
    expect((await use({ token, decision: 'deny', by: 'Mail Ada' })).status).toBe(200);
    const replayed = await use({ token, decision: 'approve', by: 'Mallory' });
    expect(replayed.status).toBe(409);
    expect((JSON.parse(replayed.text) as Problem).detail).toContain('denied already by Mail Ada');
    expect((await use({ token, decision: 'deny', by: 'Mail Ada' })).status).toBe(409);
  });

  test('record their maker next to any typed name, in the console’s lists and in the audit', async () => {
    const { token, held } = await link('link3');
    // Typed to look like another person's decision.
    const typed = 'admin-person';
    expect((await use({ token, decision: 'deny', by: typed })).status).toBe(200);
    const by = {
      type: 'person',
      name: 'admin-person, by link of approver-person',
      identity: {
        kind: 'link',
        maker: { kind: 'person', name: 'approver-person' },
        holder: { kind: 'typed', name: typed },
      },
    };
    expect((await app.get(`/v1/confirmations/${held.confirmationId}`)).body).toMatchObject({ by });
    const audit = await app.get<AuditPage>('/v1/audit?callId=link3');
    expect(audit.body.records.map(({ decidedBy }) => decidedBy)).toContainEqual(
      expect.objectContaining({ ...by, identity: expect.objectContaining({ holder: by.identity.holder }) }),
    );
  });

  test('decision links that were changed, or are for another person or question, open nothing', async () => {
    const { token } = await link('link2', { by: 'Bob', decisions: ['deny'] });
    expect((await use({ token: `${token.slice(0, -2)}aa`, decision: 'deny' })).status).toBe(403);
    expect((await use({ token, decision: 'approve' })).status).toBe(403);
    expect((await use({ token, decision: 'deny', by: 'Eve' })).status).toBe(403);
    expect((await use({ token: 'qdt2.x.y', decision: 'deny', by: 'Eve' })).status).toBe(403);
    expect((await bare('GET', `/v1/decisions?token=${token}`, {})).status).toBe(405);
    expect(
      (await app.runtime.confirmations.list({ status: 'pending' })).rows.some(
        ({ callId }) => callId === 'link2',
      ),
    ).toBe(true);
  });
});

describe('input and output', () => {
  test('endless durations are refused, and long ones are counted in few steps', async () => {
    for (const until of ['1e300', '9'.repeat(30), '9007199254740991'])
      expect([until, (await app.get(`/v1/stats?since=0&until=${until}`)).status]).toEqual([until, 400]);
    const { body } = await app.get<Stats>('/v1/stats?since=0&until=253402300799999&buckets=500');
    expect(body.series.length).toBeLessThanOrEqual(501);
    expect(body.totals.calls).toBe(body.series.reduce((sum, { calls }) => sum + calls, 0));
  });

  test('text of tools and models comes back as data, never as a page', async () => {
    const payload = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\u0000`;
    const turn = app.runtime.turn({
      sessionId: `s${payload}`,
      principal: { userId: payload },
      attrs: { note: payload },
    });
    await turn.call({ id: `i${payload}`, name: 'read_note', arguments: { id: payload } });
    await turn.call({ id: 'unknown', name: `n${payload}`, arguments: {} });
    await app.ask('xss', 'delete_file', { path: payload, note: payload });
    const paths = routes
      .filter(
        ({ method, path }) =>
          method === 'GET' && path.startsWith('/v1/') && !path.includes('{') && !path.includes('events'),
      )
      .map(({ path }) => path);
    for (const path of [...paths, '/metrics', `/v1/sessions/${encodeURIComponent(`s${payload}`)}/timeline`]) {
      const { status, headers } = await app.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get('content-type')).toMatch(/^(?:application\/json|application\/jsonl|text\/plain)/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    const { rows } = (await app.get<CallPage>(`/v1/calls?search=${encodeURIComponent('<script>')}`)).body;
    expect(rows.length).toBeGreaterThan(0);
  });

  test('names of artifacts are only names: nothing leads out of the session', async () => {
    const { body } = await app.ask('art', 'read_log', {}, { waitMs: 60_000 });
    const { artifactId } = (body as unknown as { outcome: { artifactId: string } }).outcome;
    for (const id of [
      '../../ledger.db',
      '..%2f..%2fledger.db',
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      '..\\ledger.db.key',
      '.',
      '%00',
      `${artifactId}%00`,
      `${artifactId}/..`,
    ]) {
      const { status, text } = await bare(
        'GET',
        `/v1/sessions/s1/artifacts/${id.includes('%') ? id : encodeURIComponent(id)}`,
        {
          authorization: `Bearer ${app.tokens.admin}`,
        },
      );
      expect([id, status]).toEqual([id, 404]);
      expect(text).not.toContain('SQLite');
    }
    expect((await app.get(`/v1/sessions/s2/artifacts/${artifactId}`)).status).toBe(404);
    expect((await bare('GET', '/../../package.json', {})).status).not.toBe(200);
    expect((await bare('GET', '/assets/..%2f..%2fpackage.json', {})).text).not.toContain('quittance-source');
  });

  test('no route reveals a hidden value, and no route opens the seal', async () => {
    const secret = 'hunter2-the-secret';
    const held = await app.ask<Held>('sealed', 'delete_file', { path: '/x', password: secret });
    expect(held.body.decision).toBe('held');
    const paths = [
      ...routes
        .filter(({ method, path }) => method === 'GET' && !path.includes('{') && path !== '/v1/events')
        .map(({ path }) => path),
      '/v1/sessions/s1/calls/sealed',
      '/v1/sessions/s1/timeline',
      `/v1/confirmations/${held.body.confirmationId}`,
      '/v1/audit?limit=1000',
    ];
    for (const path of paths)
      expect([path, JSON.stringify((await app.get(path)).body).includes(secret)]).toEqual([path, false]);
    const feed = await app.get('/v1/events?after=0&limit=1000', 'admin', { accept: 'application/json' });
    expect(JSON.stringify(feed.body)).not.toContain(secret);
  });

  test('bodies that are too large, not JSON, too deep or of another shape are refused with advice', async () => {
    const authorization = `Bearer ${app.tokens.operator}`;
    const post = async (body: string, type = 'application/json'): Promise<[number, string]> => {
      const { status, text } = await bare('POST', '/v1/calls', { authorization, 'content-type': type }, body);
      const { code, detail } = JSON.parse(text) as Problem;
      expect(detail.length).toBeGreaterThan(10);
      return [status, code];
    };
    expect(await post(`{"a":"${'x'.repeat(1_100_000)}"}`)).toEqual([413, 'http.too_large']);
    expect(await post('{"a":')).toEqual([400, 'http.bad_request']);
    expect(await post('['.repeat(1_900))).toEqual([400, 'http.bad_request']);
    expect(await post('{}')).toEqual([400, 'http.bad_request']);
    expect(
      await post('{"sessionId":"s","call":{"id":"c","name":"n","arguments":{}},"__proto__":{"a":1}}'),
    ).toEqual([400, 'http.bad_request']);
    expect(await post('{"sessionId":"s","call":{"id":"c","name":"n","arguments":{}}}', 'text/plain')).toEqual(
      [415, 'http.unsupported_media_type'],
    );
    expect(
      await post('{"sessionId":"s","call":{"id":"c","name":"n","arguments":{"n":9007199254740993}}}'),
    ).toEqual([400, 'http.bad_request']);
    expect((await app.get<Problem>('/v1/calls?limit=0')).status).toBe(400);
    expect((await app.get<Problem>('/v1/calls?limit=1&limit=2')).status).toBe(400);
    expect((await app.get<Problem>('/v1/calls?__proto__=1')).body.detail).toContain('Known ones');
    expect((await app.get<Problem>("/v1/calls?cursor=1.2' OR 1")).status).toBe(400);
    expect((await bare('PUT', '/v1/calls', { authorization })).status).toBe(405);
  });
});
