/** How sign-ins continue and end. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpServer } from '@quittance/server';
import type { Me, SignInList } from '@quittance/server';
import { createManualClock } from 'quittance/testing';
import { eventually } from '../eventually.ts';
import type { Signed } from './sign-in.ts';
import { signIn, visit } from './sign-in.ts';
import type { SignInStage } from './start-sign-in.ts';
import { signInOptions, startSignIn } from './start-sign-in.ts';

const minute = 60_000;
const clock = createManualClock(Date.now());
let stage: SignInStage;
beforeAll(async () => {
  stage = await startSignIn({}, clock);
});
afterAll(() => stage.close());

type Browser = Pick<Signed, 'headers' | 'jar'>;
/** A request of the console. Its answer may replace the cookie. */
const ask = async (
  { headers, jar }: Browser,
  path = '/v1/me',
  more: Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> } = {},
): Promise<Response> => {
  const sent = { ...headers(), 'x-quittance-active': '1', ...more.headers };
  const answer = await fetch(stage.url + path, { ...more, headers: sent });
  jar.keep(stage.url, answer.headers);
  return answer;
};
const statusOf = async (browser: Browser, path?: string): Promise<number> =>
  (await ask(browser, path)).status;
const secretOf = ({ jar }: Browser): string => jar.get(stage.url, /^quittance-\d+$/) ?? '';
/** A copy of the cookies and the key, as a thief would have it. */
const copyOf = ({ headers }: Browser): Record<string, string> => ({ ...headers() });
const statusWith = async (headers: Record<string, string>): Promise<number> =>
  (await fetch(`${stage.url}/v1/me`, { headers })).status;
const renewals = (): number => stage.provider.requests.filter((each) => each === 'POST /token').length;
const logOut = ({ headers }: Browser): Promise<Response> =>
  fetch(`${stage.url}/logout`, { method: 'POST', headers: { ...headers(), origin: stage.url } });

describe('renewal', () => {
  test('asks the provider when the interval is over, once for parallel requests, and replaces the secret', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const first = secretOf(ada);
    const before = renewals();
    clock.advance(5 * minute - 1);
    expect(await statusOf(ada)).toBe(200);
    expect([renewals() - before, secretOf(ada)]).toEqual([0, first]);
    clock.advance(1);
    const answers = await Promise.all([ask(ada), ask(ada), ask(ada)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(renewals() - before).toBe(1);
    expect(secretOf(ada)).not.toBe(first);
    expect(await statusOf(ada)).toBe(200);
  });

  test('shows the new name, groups and role of the person', async () => {
    stage.provider.people.set('u-new', { name: 'Newton', groups: ['staff'] });
    const newton = await signIn(stage.url, 'u-new');
    stage.provider.people.set('u-new', { name: 'Sir Isaac', groups: ['payments'] });
    clock.advance(5 * minute);
    expect((await (await ask(newton)).json()) as Me).toMatchObject({ name: 'Sir Isaac', role: 'approver' });
  });

  test('an old secret still works while requests are on their way, and ends the sign-in after that', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const old = copyOf(ada);
    clock.advance(5 * minute);
    expect(await statusOf(ada)).toBe(200);
    // The browser has not used the new secret: its answer may have been lost.
    clock.advance(minute);
    expect(await statusWith(old)).toBe(200);
    expect(await statusOf(ada)).toBe(200);
    clock.advance(29_000);
    expect(await statusWith(old)).toBe(200);
    clock.advance(1_000);
    expect(await statusWith(old)).toBe(401);
    expect(await statusOf(ada)).toBe(401);
  });

  test('a thief who renews first is found when the person comes back', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const thief: Browser = { headers: () => ({ ...stolen }), jar: ada.jar };
    const stolen = copyOf(ada);
    clock.advance(5 * minute);
    const renewed = await fetch(`${stage.url}/v1/me`, { headers: stolen });
    const cookie = (renewed.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
    expect(cookie).toMatch(/=qs_/);
    stolen['cookie'] = cookie;
    expect(await statusWith(thief.headers())).toBe(200);
    clock.advance(minute);
    expect(await statusOf(ada)).toBe(401);
    expect(await statusWith(thief.headers())).toBe(401);
  });

  test('a stolen secret is found even if each visit of the person is a renewal', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const stolen = copyOf(ada);
    for (let visits = 0; visits < 2; visits++) {
      clock.advance(5 * minute);
      expect(await statusOf(ada)).toBe(200);
    }
    clock.advance(minute);
    expect(await statusWith(stolen)).toBe(401);
    expect(await statusOf(ada)).toBe(401);
  });

  test('a person who was disabled at the provider is signed out at the next interval, and their refresh token is gone', async () => {
    stage.provider.people.set('u-gone', { name: 'Gone', groups: ['payments'] });
    const gone = await signIn(stage.url, 'u-gone');
    stage.provider.people.delete('u-gone');
    clock.advance(5 * minute - 1);
    expect(await statusOf(gone)).toBe(200);
    clock.advance(1);
    expect(await statusOf(gone)).toBe(401);
    expect(await statusOf(gone)).toBe(401);
  });

  test('a person who left their group is signed out at the next interval', async () => {
    stage.provider.people.set('u-left', { name: 'Left', groups: ['payments'] });
    const left = await signIn(stage.url, 'u-left');
    stage.provider.people.set('u-left', { name: 'Left', groups: [] });
    clock.advance(5 * minute);
    expect(await statusOf(left)).toBe(401);
  });

  test('renewal while the provider is down, a sign-in lasts one interval longer, and returns with the provider', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    stage.provider.isDown = true;
    try {
      clock.advance(10 * minute - 1);
      expect(await statusOf(ada)).toBe(200);
      clock.advance(1);
      const refused = await ask(ada);
      expect([refused.status, await refused.json()]).toMatchObject([
        503,
        { code: 'http.provider_unavailable' },
      ]);
      expect((await stage.app.get('/v1/me', 'viewer')).status).toBe(200);
    } finally {
      stage.provider.isDown = false;
    }
    expect(await statusOf(ada)).toBe(200);
  });

  test('a person can sign out while the provider is down', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const stolen = copyOf(ada);
    stage.provider.isDown = true;
    try {
      clock.advance(10 * minute);
      expect(await statusOf(ada)).toBe(503);
      expect((await logOut(ada)).status).toBe(200);
    } finally {
      stage.provider.isDown = false;
    }
    expect(await statusWith(stolen)).toBe(401);
  });

  test('an answer about another person ends the sign-in', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    clock.advance(5 * minute);
    const bob = await stage.provider.sign({
      iss: stage.provider.issuer,
      aud: stage.provider.clientId,
      sub: 'u-bob',
      groups: ['payments'],
      iat: Math.floor(Date.now() / 1_000),
      exp: Math.floor(Date.now() / 1_000) + 3_600,
    });
    stage.provider.tamper = (path, body) =>
      path === '/token' ? JSON.stringify({ ...(JSON.parse(body) as object), id_token: bob }) : undefined;
    expect(await statusOf(ada)).toBe(401);
    stage.provider.tamper = undefined;
  });
});

test('a person who is signed out while the provider is asked stays out, and so do their links', async () => {
  const ada = await signIn(stage.url, 'u-ada');
  const held = await stage.app.ask<{ confirmationId: string }>('c-race', 'delete_file', { path: '/r' });
  const made = await ask(ada, `/v1/confirmations/${held.body.confirmationId}/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: stage.url },
    body: JSON.stringify({ decisions: ['deny'], expiresInMs: 3_600_000 }),
  });
  const { token } = (await made.json()) as { token: string };
  clock.advance(5 * minute);
  stage.provider.tamper = async (path) => {
    if (path !== '/token') return undefined;
    stage.provider.tamper = undefined;
    await stage.app.post('/v1/sign-ins/end', { issuer: stage.provider.issuer, subject: 'u-ada' });
    return undefined;
  };
  expect(await statusOf(ada)).toBe(401);
  expect((await stage.app.post('/v1/decisions/read', { token })).status).toBe(403);
});

describe('a sign-in ends', () => {
  test('after its idle time; requests that a page repeats by itself do not prolong it', async () => {
    const [used, open] = [await signIn(stage.url, 'u-ada'), await signIn(stage.url, 'u-ada')];
    for (let minutes = 0; minutes < 55; minutes += 5) {
      clock.advance(5 * minute);
      expect(await statusOf(used)).toBe(200);
      const answer = await fetch(`${stage.url}/v1/me`, { headers: open.headers() });
      open.jar.keep(stage.url, answer.headers);
      expect(answer.status).toBe(200);
    }
    clock.advance(5 * minute);
    expect(await statusOf(open)).toBe(401);
    expect(await statusOf(used)).toBe(200);
  });

  test('after its lifetime, however much it is used', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    for (let hours = 0; hours < 12; hours++) {
      clock.advance(30 * minute);
      expect(await statusOf(ada)).toBe(200);
      clock.advance(30 * minute - 1);
      expect(await statusOf(ada)).toBe(200);
    }
    clock.advance(12);
    expect(await statusOf(ada)).toBe(401);
  });

  test('when the person signs out: here, and at the provider; a stolen copy is useless', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const stolen = copyOf(ada);
    const other = await signIn(stage.url, 'u-ada');
    const answer = await logOut(ada);
    const { next } = (await answer.json()) as { next: string };
    expect(new URL(next).origin).toBe(stage.provider.issuer);
    expect(new URL(next).searchParams.get('post_logout_redirect_uri')).toBe(`${stage.url}/signed-out`);
    expect(answer.headers.get('set-cookie')).toMatch(/=; .*Max-Age=0/);
    expect(await statusWith(stolen)).toBe(401);
    expect(await statusOf(other)).toBe(200);
    await eventually(() => expect(stage.provider.requests).toContain('POST /token/revocation'));
  });

  test('another site cannot sign a person out, nor can a request without the page key', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const { cookie = '' } = ada.headers();
    for (const headers of [
      { ...ada.headers(), origin: 'https://evil.example' },
      { cookie, origin: stage.url },
    ])
      expect((await fetch(`${stage.url}/logout`, { method: 'POST', headers })).status).toBe(403);
    expect(await statusOf(ada)).toBe(200);
  });

  test('when an admin ends it, alone or with all others of the person', async () => {
    const [ada, phone] = [await signIn(stage.url, 'u-ada'), await signIn(stage.url, 'u-ada')];
    const bob = await signIn(stage.url, 'u-bob');
    const { body } = await stage.app.get<SignInList>('/v1/sign-ins');
    expect(body.signIns.map(({ subject }) => subject)).toEqual(expect.arrayContaining(['u-ada', 'u-bob']));
    const { signIn: mine } = (await (await ask(ada)).json()) as Me;
    const end = await fetch(`${stage.url}/v1/sign-ins/${mine?.signInId}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${stage.app.tokens.admin}` },
    });
    expect(await end.json()).toEqual({ ended: 1 });
    expect([await statusOf(ada), await statusOf(phone)]).toEqual([401, 200]);
    const person = { issuer: stage.provider.issuer, subject: 'u-ada' };
    expect((await stage.app.post('/v1/sign-ins/end', person, 'approver')).status).toBe(403);
    expect((await stage.app.post<{ ended: number }>('/v1/sign-ins/end', person)).body.ended).toBeGreaterThan(
      0,
    );
    expect([await statusOf(phone), await statusOf(bob)]).toEqual([401, 200]);
    expect((await stage.app.get('/v1/sign-ins', 'approver')).status).toBe(403);
  });

  test('a sign-in ends and the stream of its page with it', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const stream = await fetch(`${stage.url}/v1/events?after=now`, {
      headers: { ...ada.headers(), accept: 'text/event-stream' },
    });
    const read = stream.text().catch(() => 'cut off');
    await stage.app.post('/v1/sign-ins/end', { issuer: stage.provider.issuer, subject: 'u-ada' });
    expect(await read).not.toContain('event: entry');
  });
});

describe('the provider ends a sign-in (back-channel logout)', () => {
  const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  let count = 0;
  const claims = (more: object = {}): object => ({
    iss: stage.provider.issuer,
    aud: stage.provider.clientId,
    iat: Math.floor(Date.now() / 1_000),
    exp: Math.floor(Date.now() / 1_000) + 120,
    jti: `token-${++count}`,
    sub: 'u-bob',
    events: logoutEvent,
    ...more,
  });
  const send = async (token: string): Promise<number> =>
    (
      await fetch(`${stage.url}/login/backchannel`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: token }),
      })
    ).status;

  test('when the person signs out there', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const elsewhere = await signIn(stage.url, 'u-ada');
    const { signIn: mine } = (await (await ask(ada)).json()) as Me;
    expect(mine?.subject).toBe('u-ada');
    // The person ends the session on a page of the provider, in the browser that signed in.
    const end = await visit(ada.jar, `${stage.provider.issuer}/session/end`);
    const form = await end.text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
    await visit(ada.jar, `${stage.provider.issuer}/session/end/confirm`, {
      method: 'POST',
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    });
    await eventually(async () => expect(await statusOf(ada)).toBe(401));
    expect(await statusOf(elsewhere)).toBe(200);
  });

  test('a token of the provider ends all sign-ins of the person, once', async () => {
    const [bob, ada] = [await signIn(stage.url, 'u-bob'), await signIn(stage.url, 'u-ada')];
    const token = await stage.provider.sign(claims(), { typ: 'logout+jwt' });
    expect(await send(token)).toBe(200);
    expect([await statusOf(bob), await statusOf(ada)]).toEqual([401, 200]);
    const again = await signIn(stage.url, 'u-bob');
    expect(await send(token)).toBe(400);
    expect(await statusOf(again)).toBe(200);
  });

  test('nothing else does', async () => {
    const bob = await signIn(stage.url, 'u-bob');
    const { provider } = stage;
    const tokens: readonly [string, string][] = [
      ['no token', ''],
      ['a forged key', await provider.forge(claims())],
      ['another issuer', await provider.sign(claims({ iss: 'https://evil.example' }))],
      ['another client', await provider.sign(claims({ aud: 'other' }))],
      ['an old token', await provider.sign(claims({ iat: Math.floor(Date.now() / 1_000) - 3_600 }))],
      ['an expired token', await provider.sign(claims({ exp: Math.floor(Date.now() / 1_000) - 3_600 }))],
      ['no event', await provider.sign(claims({ events: {} }))],
      ['an ID token', await provider.sign(claims({ nonce: 'n' }))],
      ['no id', await provider.sign(claims({ jti: undefined }))],
      ['no person', await provider.sign(claims({ sub: undefined }))],
      ['another type', await provider.sign(claims(), { typ: 'at+jwt' })],
      [
        'no signature',
        `${[{ alg: 'none' }, claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`,
      ],
    ];
    for (const [what, token] of tokens) expect([what, await send(token)]).toEqual([what, 400]);
    // Without the keys of the provider, the token is not judged: the provider sends it again.
    provider.tamper = (path) => (path === '/jwks' ? 'not JSON' : undefined);
    expect(await send(await provider.sign(claims()))).toBe(503);
    provider.tamper = undefined;
    expect(await send(await provider.sign(claims({ sub: 'u-bob', sid: 'another session' })))).toBe(200);
    expect(await statusOf(bob)).toBe(200);
  });
});

test('a sign-in survives a restart, and works at every server of the ledger', async () => {
  const ada = await signIn(stage.url, 'u-ada');
  const { ledger, runtime, ledgerPath } = stage.app;
  const other = await createHttpServer({
    ledger,
    runtime,
    ...(ledger.documents === undefined && { ledgerUrl: ledgerPath }),
    port: 0,
    signIn: signInOptions(stage.provider),
  });
  try {
    const name = `quittance-${other.port}`;
    const there = async (): Promise<number> => {
      const headers = { ...ada.headers(), cookie: `${name}=${secretOf(ada)}` };
      return (await fetch(`${other.url}/v1/me`, { headers })).status;
    };
    expect(await there()).toBe(200);
    await logOut(ada);
    expect(await there()).toBe(401);
  } finally {
    await other.close();
  }
});

describe('acts of a signed-in person', () => {
  test('[bound-approval] a decision records the verified identity; another person of the same name is not the same', async () => {
    stage.provider.people.set('u-ada2', { name: 'Ada Lovelace', groups: ['payments'] });
    const [ada, twin] = [await signIn(stage.url, 'u-ada'), await signIn(stage.url, 'u-ada2')];
    const held = await stage.app.ask<{ confirmationId: string }>('c-decide', 'delete_file', { path: '/a' });
    const path = `/v1/confirmations/${held.body.confirmationId}`;
    const { inputDigest } = (await stage.app.get<{ inputDigest: string }>(path)).body;
    const decide = (who: Browser): Promise<Response> =>
      ask(who, `${path}/decision`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: stage.url },
        body: JSON.stringify({ decision: 'deny', inputDigest }),
      });
    const first = await decide(ada);
    expect([first.status, await first.json()]).toMatchObject([
      200,
      {
        by: {
          name: 'Ada Lovelace',
          identity: {
            kind: 'provider',
            issuer: stage.provider.issuer,
            subject: 'u-ada',
            method: 'oidc',
            name: 'Ada Lovelace',
            at: expect.any(Number),
            groups: ['payments', 'staff'],
            roles: ['approver'],
          },
        },
      },
    ]);
    expect((await decide(ada)).status).toBe(200);
    expect((await decide(twin)).status).toBe(409);
    const audit = await stage.app.get<object>('/v1/audit?sessionId=s1');
    expect(JSON.stringify(audit.body)).toContain('"subject":"u-ada"');
  });

  test('resolutions, grants, delegations and reports record the verified identity, and an export has it', async () => {
    const send = async (who: Browser, path: string, body: object): Promise<unknown> => {
      const answer = await ask(who, path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: stage.url },
        body: JSON.stringify(body),
      });
      expect([path, answer.status < 300]).toEqual([path, true]);
      return answer.json();
    };
    const verified = (subject: string) => ({
      kind: 'provider',
      issuer: stage.provider.issuer,
      subject,
      method: 'oidc',
    });
    const [ada, olga] = [await signIn(stage.url, 'u-ada'), await signIn(stage.url, 'u-olga')];
    await stage.app.ask('c-unknown', 'charge_card', {}, { waitMs: 60_000 });
    const resolved = await send(ada, '/v1/sessions/s1/calls/c-unknown/resolution', {
      resolution: 'failed',
      reason: 'The bank says so.',
    });
    expect(resolved).toMatchObject({ call: { resolution: { by: { identity: verified('u-ada') } } } });
    const grant = await send(ada, '/v1/grants', { sessionId: 's1', toolName: 'set_price', forMs: 60_000 });
    expect(grant).toMatchObject({ by: 'Ada Lovelace', identity: verified('u-ada') });
    const delegation = await send(ada, '/v1/delegations', { to: 'u-bob', until: clock.now() + 60_000 });
    expect(delegation).toMatchObject({ identity: verified('u-ada') });
    stage.app.runtime
      .turn({ sessionId: 's1' })
      .submit({ id: 'c-mail', name: 'send_mail', arguments: { to: 'bob' } });
    const { claim } = (await send(olga, '/v1/handoffs/claim', { toolName: 'send_mail', waitMs: 30_000 })) as {
      claim: { token: string };
    };
    await send(olga, '/v1/handoffs/report', { token: claim.token, report: { output: 'sent' } });
    const root = await signIn(stage.url, 'u-root');
    const exported = await (await ask(root, '/v1/export?sessionId=s1')).text();
    const lineOf = (type: string): string =>
      exported.split('\n').findLast((line) => line.includes(type)) ?? '';
    for (const [type, subject] of [
      ['tool.resolved', 'u-ada'],
      ['grant.given', 'u-ada'],
      ['tool.reported', 'u-olga'],
    ] as const)
      for (const part of [stage.provider.issuer, subject]) expect(lineOf(type)).toContain(part);
  });

  test('[bound-approval] a decision link of a person ends when they lose a group or the role it was made with', async () => {
    const person = (...groups: string[]) => stage.provider.people.set('u-lin', { name: 'Lin', groups });
    const held = await stage.app.ask<{ confirmationId: string }>('c-group', 'delete_file', { path: '/g' });
    const check = async (before: string[], after: string[]): Promise<unknown> => {
      person(...before);
      const lin = await signIn(stage.url, 'u-lin');
      const made = await ask(lin, `/v1/confirmations/${held.body.confirmationId}/link`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: stage.url },
        body: JSON.stringify({ decisions: ['deny'], expiresInMs: 3_600_000 }),
      });
      const { token } = (await made.json()) as { token: string };
      person(...after);
      clock.advance(5 * minute);
      await ask(lin);
      const read = await fetch(`${stage.url}/v1/decisions/read`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      return read.status === 200 ? 200 : ((await read.json()) as { detail: string }).detail;
    };
    expect(await check(['payments'], ['payments', 'staff'])).toBe(200);
    expect(await check(['payments', 'staff'], ['payments'])).toContain('have left the group staff');
    expect(await check(['payments'], ['payments', 'admins'])).toContain('role has changed to admin');
    expect(await check(['payments', 'staff'], ['staff'])).toContain('needs approver');
  });

  test('a decision link of a person works after they signed out, until their sign-ins are ended', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const held = await stage.app.ask<{ confirmationId: string }>('c-link', 'delete_file', { path: '/b' });
    const made = await ask(ada, `/v1/confirmations/${held.body.confirmationId}/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: stage.url },
      body: JSON.stringify({ decisions: ['deny'], expiresInMs: 3_600_000 }),
    });
    const { token } = (await made.json()) as { token: string };
    const read = async (): Promise<number> =>
      (
        await fetch(`${stage.url}/v1/decisions/read`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ token }),
        })
      ).status;
    expect(await read()).toBe(200);
    await logOut(ada);
    expect(await read()).toBe(200);
    await stage.app.post('/v1/sign-ins/end', { issuer: stage.provider.issuer, subject: 'u-ada' });
    expect(await read()).toBe(403);
    const decided = await fetch(`${stage.url}/v1/decisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, decision: 'deny', by: 'Ada' }),
    });
    expect([decided.status, await decided.json()]).toMatchObject([403, { code: 'confirmation.forbidden' }]);
  });
});
