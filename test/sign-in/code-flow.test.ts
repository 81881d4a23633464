import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { decodeJwt } from 'jose';
import type { Me } from '@quittance/server';
import { readFileSync } from 'node:fs';
import { signInFilePath } from '../../packages/server/src/http/sign-in/open-sign-in-content.ts';
import { askProvider, passProvider, Jar, signIn, visit } from './sign-in.ts';
import type { SignInStage } from './start-sign-in.ts';
import { startSignIn } from './start-sign-in.ts';
import type { Tamper } from './test-provider.ts';

let stage: SignInStage;
beforeAll(async () => {
  stage = await startSignIn();
});
afterAll(() => stage.close());
afterEach(() => {
  stage.provider.tamper = undefined;
  stage.provider.isDown = false;
});

const me = (headers: Record<string, string>): Promise<Response> => fetch(`${stage.url}/v1/me`, { headers });

/** Changes the ID token on its way from the provider to the server. */
const tamperIdToken =
  (change: (claims: Record<string, unknown>) => Promise<string> | string): Tamper =>
  async (path, body) => {
    if (path !== '/token') return undefined;
    const answer = JSON.parse(body) as { id_token: string };
    return JSON.stringify({ ...answer, id_token: await change(decodeJwt(answer.id_token)) });
  };

describe('a person signs in', () => {
  test('a person signs in with their verified identity, and the role of the first entry that applies', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    expect(ada.answer.status).toBe(303);
    const who = (await (await me(ada.headers())).json()) as Me;
    expect(who).toMatchObject({
      name: 'Ada Lovelace',
      role: 'approver',
      by: 'cookie',
      signIn: {
        issuer: stage.provider.issuer,
        subject: 'u-ada',
        groups: ['payments', 'staff'],
        kind: 'browser',
      },
    });
    const olga = await signIn(stage.url, 'u-olga');
    expect(await (await me(olga.headers())).json()).toMatchObject({ role: 'operator' });
  });

  test('a person signs in and the cookie is hidden from pages, bound to this site, and useless without the page key', async () => {
    const ada = await signIn(stage.url, 'u-ada');
    const [session = ''] = ada.answer.headers
      .getSetCookie()
      .filter((each) => !/^[\w-]+-start(?:-\d)?=/.test(each));
    expect(session).toMatch(/^quittance-\d+=qs_[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect((await me({ cookie: ada.headers()['cookie'] ?? '' })).status).toBe(401);
    expect((await me({ ...ada.headers(), 'x-quittance-page-key': 'qs_key.wrong' })).status).toBe(401);
    // The cookie is not a token.
    const secret = ada.jar.get(stage.url, /^quittance-\d+$/) ?? '';
    expect((await me({ authorization: `Bearer ${secret}` })).status).toBe(401);
  });

  test('[secrets-stay-out] a person signs in and the file of sign-ins has no secret in clear', async () => {
    const seen: string[] = [];
    stage.provider.tamper = (path, body) => {
      if (path === '/token') seen.push(...Object.values(JSON.parse(body) as object).map(String));
      return undefined;
    };
    const ada = await signIn(stage.url, 'u-ada');
    const file = readFileSync(signInFilePath(stage.app.ledgerPath), 'utf8');
    const long = seen.filter((text) => text.length > 30);
    expect(long.length).toBeGreaterThanOrEqual(3);
    for (const secret of [
      ...long,
      ada.jar.get(stage.url, /^quittance-\d+$/) ?? '?',
      ada.headers()['x-quittance-page-key'] ?? '?',
      stage.provider.clientSecret,
    ])
      expect(file).not.toContain(secret);
  });

  test('a person signs in and the provider receives PKCE, state and nonce, but no secret in the address', async () => {
    const { start } = await askProvider(new Jar(), stage.url, 'u-ada');
    const { searchParams } = new URL(start.headers.get('location') ?? '');
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    for (const name of ['code_challenge', 'state', 'nonce'])
      expect(searchParams.get(name)).toMatch(/^[\w-]{43}$/);
    expect(searchParams.get('redirect_uri')).toBe(`${stage.url}/login/callback`);
    expect(searchParams.toString()).not.toContain('secret');
  });

  test('a person signs in in two tabs at the same time', async () => {
    const jar = new Jar();
    const first = await visit(jar, `${stage.url}/login/start?returnTo=/calls`);
    const second = await askProvider(jar, stage.url, 'u-ada', '?returnTo=/inbox');
    const answers = [await visit(jar, second.callback)];
    const firstPage = first.headers.get('location') ?? '';
    answers.push(await visit(jar, await passProvider(jar, stage.url, 'u-ada', firstPage)));
    expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [303, expect.stringContaining('to=%2Finbox')],
      [303, expect.stringContaining('to=%2Fcalls')],
    ]);
    // Each attempt was used up. Further ones replace the oldest, so a browser never holds many.
    for (let starts = 0; starts < 5; starts++) await visit(jar, `${stage.url}/login/start`);
    expect(jar.header(stage.url).match(/-start(?:-\d)?=/g)).toHaveLength(3);
  });

  test('behind TLS with a cookie that only this host can set', async () => {
    const tls = await startSignIn({ publicUrl: 'https://quittance.example.org' });
    try {
      const login = await tls.app.server.fetch(
        new Request('https://quittance.example.org/login/start', {
          headers: { host: 'quittance.example.org' },
        }),
      );
      const [cookie = ''] = login.headers.getSetCookie();
      expect(cookie).toMatch(/^__Host-quittance-start=.*; Path=\/; HttpOnly; SameSite=Lax; .*; Secure$/);
    } finally {
      await tls.close();
    }
  });
});

describe('a sign-in is refused', () => {
  const expectRefused = async (answer: Response, status: number, text: RegExp): Promise<void> => {
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(text)]);
    const cookies = answer.headers.getSetCookie().filter((each) => !/-start(?:-\d)?=; /.test(each));
    expect(cookies).toEqual([]);
  };

  test('if the answer has another state, or the browser did not begin', async () => {
    const jar = new Jar();
    const { callback } = await askProvider(jar, stage.url, 'u-ada');
    const other = new URL(callback);
    other.searchParams.set('state', 'A'.repeat(43));
    await expectRefused(await visit(jar, other.href), 400, /does not belong/);
    // Another site sends its own answer to a person, who would then act under the account of the attacker.
    await expectRefused(await visit(new Jar(), callback), 400, /does not belong/);
  });

  test('if the code was used before, also with the same browser', async () => {
    const jar = new Jar();
    const { callback } = await askProvider(jar, stage.url, 'u-ada');
    const kept = jar.header(stage.url);
    expect((await visit(jar, callback)).status).toBe(303);
    await expectRefused(await visit(jar, callback), 400, /does not belong/);
    // The attempt itself was copied, so only the provider knows that the code was used.
    const again = await fetch(callback, { headers: { cookie: kept }, redirect: 'manual' });
    await expectRefused(again, 403, /refused: invalid_grant/);
  });

  test('if another provider answered (mix-up)', async () => {
    const jar = new Jar();
    const { callback } = await askProvider(jar, stage.url, 'u-ada');
    const mixed = new URL(callback);
    expect(mixed.searchParams.get('iss')).toBe(stage.provider.issuer);
    mixed.searchParams.set('iss', 'https://evil.example');
    await expectRefused(await visit(jar, mixed.href), 400, /failed a check/);
    mixed.searchParams.delete('iss');
    const again = await askProvider(jar, stage.url, 'u-ada');
    const without = new URL(again.callback);
    without.searchParams.delete('iss');
    await expectRefused(await visit(jar, without.href), 400, /failed a check/);
  });

  const hour = 3_600;
  const now = (): number => Math.floor(Date.now() / 1_000);
  const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  test.for<[string, (claims: Record<string, unknown>) => Promise<string> | string]>([
    ['another nonce', (claims) => stage.provider.sign({ ...claims, nonce: 'other' })],
    ['no nonce', (claims) => stage.provider.sign({ ...claims, nonce: undefined })],
    ['another issuer', (claims) => stage.provider.sign({ ...claims, iss: 'https://evil.example' })],
    ['another audience', (claims) => stage.provider.sign({ ...claims, aud: 'another-client' })],
    [
      'several audiences without this server as the party',
      (claims) => stage.provider.sign({ ...claims, aud: ['quittance', 'other'], azp: 'other' }),
    ],
    ['an expired time', (claims) => stage.provider.sign({ ...claims, exp: now() - hour })],
    ['a time in the future', (claims) => stage.provider.sign({ ...claims, nbf: now() + hour })],
    ['a key that the provider does not publish', (claims) => stage.provider.forge(claims)],
    [
      'no signature (algorithm none)',
      (claims) => `${base64({ alg: 'none', typ: 'JWT' })}.${base64(claims)}.`,
    ],
    [
      'a signature with the client secret instead of a key',
      async (claims) => {
        const { SignJWT } = await import('jose');
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(stage.provider.clientSecret));
      },
    ],
    ['text that is no token', () => 'a.b.c'],
  ])('if the ID token has %s', async ([, change]) => {
    stage.provider.tamper = tamperIdToken(change);
    await expectRefused((await signIn(stage.url, 'u-ada')).answer, 400, /failed a check/);
  });

  test('if the person said no at the provider, without the text of the provider', async () => {
    const { answer } = await signIn(stage.url, 'nobody');
    const text = await answer.text();
    expect([
      answer.status,
      text.includes('refused: access_denied'),
      text.includes('The person said no'),
    ]).toEqual([403, true, false]);
  });

  test('if none of their groups has a role; the page says which they have', async () => {
    const { answer, headers } = await signIn(stage.url, 'u-eve');
    const text = await answer.clone().text();
    expect(text).toContain('marketing');
    expect(text).toContain('Eve &#60;b&#62;Outside');
    await expectRefused(answer, 403, /You have no rights here/);
    expect((await me(headers())).status).toBe(401);
    expect(stage.provider.requests).toContain('POST /token/revocation');
  });

  test.for<[string, unknown]>([
    ['a text', 'payments'],
    ['a list with something else', ['payments', 7]],
    ['an object', { payments: true }],
    [
      'more than anyone has',
      Array.from({ length: 501 }, (_, index) => `payments${index}`).concat('payments'),
    ],
  ])('if the groups are %s', async ([, groups]) => {
    stage.provider.tamper = tamperIdToken((claims) => stage.provider.sign({ ...claims, groups }));
    await expectRefused((await signIn(stage.url, 'u-ada')).answer, 403, /You have no rights here/);
  });

  test('a sign-in is refused while the provider is down; tokens still work', async () => {
    stage.provider.isDown = true;
    const jar = new Jar();
    // The description of the provider is known, so the browser is still sent there.
    const start = await visit(jar, `${stage.url}/login/start`);
    expect(start.status).toBe(303);
    stage.provider.isDown = false;
    const { callback } = await askProvider(jar, stage.url, 'u-ada');
    stage.provider.isDown = true;
    await expectRefused(await visit(jar, callback), 503, /Sign-in is not available.*Tokens still work/s);
    expect((await stage.app.get('/v1/me', 'approver')).status).toBe(200);
    const fresh = await startSignIn();
    try {
      fresh.provider.isDown = true;
      const page = await fetch(`${fresh.url}/login/start`, { redirect: 'manual' });
      await expectRefused(page, 503, /does not answer/);
      expect((await fresh.app.get('/readyz')).status).toBe(200);
    } finally {
      await fresh.close();
    }
  });

  test('if one address begins too often', async () => {
    const throttled = await startSignIn({ limits: { signInRate: { perSecond: 0.001, burst: 3 } } });
    try {
      const statuses: number[] = [];
      for (let tries = 0; tries < 4; tries++)
        statuses.push((await fetch(`${throttled.url}/login/callback`)).status);
      expect(statuses).toEqual([400, 400, 400, 429]);
      expect((await throttled.app.get('/v1/me')).status).toBe(200);
    } finally {
      await throttled.close();
    }
  });
});

test('a new key of the provider is known at once', async () => {
  expect((await signIn(stage.url, 'u-ada')).answer.status).toBe(303);
  await stage.provider.rotateKey();
  expect((await signIn(stage.url, 'u-ada')).answer.status).toBe(303);
});

test('a cookie from before the sign-in is not taken over (session fixation)', async () => {
  const jar = new Jar();
  const planted = 'qs_0123456789abcdef.planted';
  jar.keep(
    stage.url,
    new Headers({ 'set-cookie': `quittance-${new URL(stage.url).port}=${planted}; Path=/` }),
  );
  const ada = await signIn(stage.url, 'u-ada', '', jar);
  expect(ada.jar.get(stage.url, /^quittance-\d+$/)).not.toBe(planted);
  expect((await me(ada.headers())).status).toBe(200);
  const again = await signIn(stage.url, 'u-ada', '', jar);
  expect(again.headers()['cookie']).not.toBe(ada.headers()['x-quittance-page-key']);
  // Both keys are new as well.
  expect(again.headers()['x-quittance-page-key']).not.toBe(ada.headers()['x-quittance-page-key']);
});

describe('after the sign-in', () => {
  test.for([
    ['/inbox?risk=high', '&to=%2Finbox%3Frisk%3Dhigh'],
    ['https://evil.example/', ''],
    ['//evil.example/', ''],
    ['/\\evil.example/', ''],
    ['/\t/evil.example/', ''],
    ['\\\\evil.example', ''],
    ['/../..//evil.example', ''],
    ['/%2F/evil.example', '&to=%2F%252F%2Fevil.example'],
    ['javascript:alert(1)', ''],
    ['/.//evil.example', ''],
    ['http:evil.example', ''],
  ] as const)('a person continues on a page of this server: %j', async ([returnTo, to]) => {
    const { answer } = await signIn(stage.url, 'u-ada', `?returnTo=${encodeURIComponent(returnTo)}`);
    expect(answer.headers.get('location')).toMatch(/^\/login\/done#page-key=[\w.-]+(?:&to=.*)?$/);
    expect((answer.headers.get('location') ?? '').replace(/^[^&]*/, '')).toBe(to);
  });
});
