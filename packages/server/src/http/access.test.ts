/** Access control from headers alone: the same rules that the server applies to every request. */
import type { Needed } from 'quittance/internal/call/role';
import { allows } from 'quittance/internal/call/role';
import { describe, expect, test } from 'vitest';
import type { AccessOptions, OpenedLogin } from './access.ts';
import { Access, pageKeyHeader } from './access.ts';
import { refuseOtherSites } from './refuse-other-sites.ts';
import type { Actor } from './actor.ts';
import { identityOf, anonymous, refusePrincipal } from './actor.ts';
import type { Role } from './api/role.ts';
import { RateLimit } from './rate-limit.ts';
import { TokenFile } from './token-file.ts';
import type { TokenPrincipals } from 'quittance/internal/runtime/tokens';
import { readTokenPrincipals } from 'quittance/internal/runtime/tokens';

const host = '127.0.0.1:4747';

function open(more: Partial<AccessOptions> = {}) {
  let now = 1_000;
  const tokens = new TokenFile(undefined, () => now);
  const access = new Access({
    tokens,
    signIns: undefined,
    local: { token: 'qt_local', name: 'ops' },
    hosts: () => new Set([host, 'ledger.example']),
    cookieName: () => 'quittance_4747',
    secure: false,
    now: () => now,
    ...more,
  });
  const wait = (ms: number): void => void (now += ms);
  return { access, tokens, wait };
}

const bearer = (token: string): Headers => new Headers({ authorization: `Bearer ${token}` });
const cookieOf = ({ cookie }: OpenedLogin): string => cookie.split(';')[0] ?? '';
const inBrowser = (login: OpenedLogin | undefined, more: Record<string, string> = {}): Headers =>
  new Headers(
    login && { cookie: cookieOf(login), [pageKeyHeader]: login.pageKey, origin: `http://${host}`, ...more },
  );
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

describe('the name of the server', () => {
  test.each([host, host.toUpperCase(), 'Ledger.Example'])('%s is taken', (name) => {
    expect(codeOf(() => open().access.checkHost(new Headers({ host: name })))).toBeUndefined();
  });
  test.each(['', 'evil.example', '127.0.0.1', `${host}.evil.example`])('%j is rejected', (name) => {
    expect(codeOf(() => open().access.checkHost(new Headers({ host: name })))).toBe('http.wrong_host');
  });
});

describe('a bearer token', () => {
  test('a bearer token of the process has the role admin, and one from the file has the role it was made with', async () => {
    const { access, tokens } = open();
    expect(access.identify('POST', bearer('qt_local'))).toMatchObject({
      name: 'ops',
      role: 'admin',
      by: 'token',
      expiresAt: undefined,
    });
    const { token, record } = tokens.create({
      name: 'Ada',
      role: 'approver',
      person: 'ada@example.org',
      expiresInMs: 50,
    });
    expect(access.identify('POST', bearer(token))).toEqual({
      name: 'Ada',
      role: 'approver',
      tokenId: record.tokenId,
      person: 'ada@example.org',
      groups: undefined,
      principals: undefined,
      by: 'token',
      expiresAt: 1_050,
    });
  });

  test('a bearer token that is unknown, revoked, expired or malformed is refused, even with a valid cookie', async () => {
    const { access, tokens, wait } = open();
    const short = tokens.create({ name: 'Bob', role: 'viewer', expiresInMs: 50 });
    const gone = tokens.create({ name: 'Eve', role: 'viewer' });
    tokens.revoke('Eve');
    wait(50);
    for (const token of ['qt_other', short.token, gone.token, 'a b', `${'x'.repeat(201)}`, ''])
      expect(codeOf(() => access.identify('GET', bearer(token)))).toBe('http.unauthenticated');
    const good = inBrowser(await access.loginByToken('qt_local'), { authorization: 'Basic cXQ6' });
    expect(codeOf(() => access.identify('GET', good))).toBe('http.unauthenticated');
  });

  test('a bearer token of a process without one is not the empty text', async () => {
    const { access } = open({ local: undefined });
    expect(codeOf(() => access.identify('GET', bearer('qt_local')))).toBe('http.unauthenticated');
    expect(await access.loginByToken('')).toBeUndefined();
  });
});

describe('a login', () => {
  test('a login by a token lasts half a day, and belongs to the token', async () => {
    const { access, tokens, wait } = open();
    const { token, record } = tokens.create({ name: 'Ada', role: 'approver' });
    const login = await access.loginByToken(token);
    expect(login?.cookie).toMatch(
      /^quittance_4747=qt_[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(access.identify('POST', inBrowser(login))).toMatchObject({
      name: 'Ada',
      tokenId: record.tokenId,
      by: 'cookie',
      expiresAt: 1_000 + 43_200_000,
    });
    wait(43_199_999);
    expect(access.identify('GET', inBrowser(login)).name).toBe('Ada');
    wait(1);
    expect(access.identify('GET', inBrowser(login))).toBe(anonymous);
    expect(await access.loginByToken('qt_other')).toBeUndefined();
  });

  test('is sent over TLS only if the server says so', async () => {
    expect((await open({ secure: true }).access.loginByToken('qt_local'))?.cookie).toMatch(/; Secure$/);
  });

  test('needs its own page key, and is found among the cookies of other servers', async () => {
    const { access } = open();
    const [mine, other] = [await access.loginByToken('qt_local'), await access.loginByToken('qt_local')];
    const headers = (cookie: string, key: string | undefined): Headers =>
      new Headers({ cookie, ...(key !== undefined && { [pageKeyHeader]: key }) });
    const own = mine ? cookieOf(mine) : '';
    expect(access.identify('GET', headers(own, undefined))).toBe(anonymous);
    expect(access.identify('GET', headers(own, other?.pageKey))).toBe(anonymous);
    // Forty cookies of other names do not count towards the limit, and empty ones of ours are skipped.
    const others = Array.from({ length: 40 }, (_, n) => `other_name_${n}=qt_${n}`).join('; ');
    const empty = Array.from({ length: 40 }, () => 'quittance_4747=').join('; ');
    expect(access.identify('GET', headers(`${others}; ${empty}; ${own}`, mine?.pageKey)).name).toBe('ops');
    const full = (count: number): string =>
      Array.from({ length: count }, (_, n) => `quittance_4747=qt_${n}`).join(';');
    expect(access.identify('GET', headers(`${full(31)};${own}`, mine?.pageKey)).name).toBe('ops');
    expect(access.identify('GET', headers(`${full(32)};${own}`, mine?.pageKey))).toBe(anonymous);
  });

  test('ends at logout, and only the browser that has both secrets can log out', async () => {
    const { access } = open();
    const login = await access.loginByToken('qt_local');
    await access.logout(new Headers({ cookie: login ? cookieOf(login) : '' }), '/signed-out');
    expect(access.identify('GET', inBrowser(login)).name).toBe('ops');
    const ended = await access.logout(inBrowser(login), '/signed-out');
    expect(ended.cookie).toMatch(/^quittance_4747=; .*Max-Age=0$/);
    expect(access.identify('GET', inBrowser(login))).toBe(anonymous);
  });

  test('a login of a process under another name is invalid', async () => {
    const { access, tokens } = open();
    const login = await access.loginByToken('qt_local');
    for (const local of [{ token: 'qt_local', name: 'eve' }, undefined])
      expect(open({ tokens, local }).access.identify('GET', inBrowser(login))).toBe(anonymous);
  });

  test('ends with its token', async () => {
    const { access, tokens, wait } = open();
    const { token } = tokens.create({ name: 'Ada', role: 'viewer', expiresInMs: 50 });
    const login = await access.loginByToken(token);
    expect(access.isStillIn('GET', inBrowser(login))).toBe(true);
    wait(50);
    expect(access.isStillIn('GET', inBrowser(login))).toBe(false);
    expect(access.isStillIn('GET', bearer('qt_other'))).toBe(false);
    expect(access.isStillIn('GET', new Headers())).toBe(false);
  });
});

describe('a one-time code', () => {
  test('logs in once, within 15 minutes, and shows the name before', async () => {
    const { access, tokens, wait } = open();
    const { record } = tokens.create({ name: 'Ada', role: 'viewer' });
    const [own, hers, late] = [access.makeCode(), access.makeCode(record.tokenId), access.makeCode()];
    expect([access.nameOfCode(own), access.nameOfCode(hers), access.nameOfCode('x')]).toEqual([
      'ops',
      'Ada',
      undefined,
    ]);
    expect(access.identify('GET', inBrowser(await access.loginByCode(own))).name).toBe('ops');
    expect(await access.loginByCode(own)).toBeUndefined();
    wait(899_999);
    expect(access.identify('GET', inBrowser(await access.loginByCode(hers))).name).toBe('Ada');
    expect(access.nameOfCode(late)).toBe('ops');
    wait(1);
    expect([access.nameOfCode(late), await access.loginByCode(late)]).toEqual([undefined, undefined]);
  });

  test('stays valid while others are made, until it expires', async () => {
    const { access, wait } = open();
    const first = access.makeCode();
    wait(899_999);
    access.makeCode();
    expect(access.nameOfCode(first)).toBe('ops');
  });
});

describe('a request by cookie', () => {
  const refusal = (method: string, headers: Record<string, string>): unknown =>
    codeOf(() => refuseOtherSites(method, new Headers(headers), new Set([host])));

  test.each<[string, string, Record<string, string>]>([
    ['reads without saying where from', 'GET', {}],
    ['reads the head without saying where from', 'HEAD', {}],
    ['changes from this origin', 'POST', { origin: `http://${host}` }],
    ['changes from this origin over TLS', 'POST', { origin: `https://${host.toUpperCase()}` }],
    ['changes from the same origin, as the browser says', 'POST', { 'sec-fetch-site': 'same-origin' }],
    ['changes as typed by the user', 'POST', { 'sec-fetch-site': 'none' }],
  ])('is accepted if it %s', (_, method, headers) => {
    expect(refusal(method, headers)).toBeUndefined();
  });

  test.each<[string, string, Record<string, string>]>([
    ['changes without saying where from', 'POST', {}],
    ['comes from another site', 'GET', { 'sec-fetch-site': 'cross-site' }],
    ['comes from another port', 'GET', { 'sec-fetch-site': 'same-site', origin: `http://${host}` }],
    ['comes from another origin', 'GET', { origin: 'http://evil.example' }],
    [
      'comes from another origin, although the browser says same origin',
      'POST',
      { origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
    ],
    ['comes from an origin without a name', 'POST', { origin: 'null' }],
    ['comes from a longer origin', 'POST', { origin: `http://${host}/x` }],
  ])('is refused if it %s', (_, method, headers) => {
    expect(refusal(method, headers)).toBe('http.cross_site');
  });

  test('needs these checks for every login', async () => {
    const { access } = open();
    const login = await access.loginByToken('qt_local');
    const evil = inBrowser(login, { origin: 'http://evil.example' });
    expect(codeOf(() => access.identify('GET', evil))).toBe('http.cross_site');
    expect(access.identify('GET', bearer('qt_local')).name).toBe('ops');
  });
});

describe('the holder of a token', () => {
  test('is found by its id while the token is valid', async () => {
    const { access, tokens, wait } = open();
    const { record } = tokens.create({ name: 'Ada', role: 'approver', expiresInMs: 50 });
    const other = tokens.create({ name: 'Bob', role: 'viewer' });
    expect(access.holderOf(record.tokenId)).toMatchObject({ name: 'Ada', role: 'approver', by: 'token' });
    expect(access.holderOf(other.record.tokenId)?.name).toBe('Bob');
    const { tokenId } = access.identify('GET', bearer('qt_local'));
    expect(access.holderOf(tokenId)).toMatchObject({ name: 'ops', role: 'admin', expiresAt: undefined });
    expect(access.holderOf('x')).toBeUndefined();
    wait(50);
    expect(access.holderOf(record.tokenId)).toBeUndefined();
    expect(open({ local: undefined }).access.holderOf(tokenId)).toBeUndefined();
  });

  test('is found by name in any spelling, if they started this server', async () => {
    const { access, tokens } = open();
    tokens.create({ name: 'Ada', role: 'approver' });
    expect(access.localNamed('OPS')).toMatchObject({ name: 'ops', role: 'admin' });
    expect(access.localNamed('Ada')).toBeUndefined();
  });

  test('is recorded with how they were identified', async () => {
    const actor: Actor = { ...anonymous, name: 'Ada', tokenId: 't', role: 'viewer', by: 'cookie' };
    expect(identityOf(actor)).toEqual({
      kind: 'token',
      id: 't',
      name: 'Ada',
      via: 'browser',
      roles: ['viewer'],
    });
    expect(identityOf({ ...actor, by: 'token', person: 'ada', groups: ['finance'] })).toEqual({
      kind: 'token',
      id: 't',
      name: 'Ada',
      via: 'bearer',
      person: 'ada',
      groups: ['finance'],
      roles: ['viewer'],
    });
  });
});

describe('a role', () => {
  const roles: readonly (Role | undefined)[] = [undefined, 'viewer', 'operator', 'approver', 'admin'];
  test.each<[Needed, readonly (Role | undefined)[]]>([
    ['anyone', roles],
    ['viewer', ['viewer', 'operator', 'approver', 'admin']],
    ['operator', ['operator', 'admin']],
    ['approver', ['approver', 'admin']],
    ['operator or approver', ['operator', 'approver', 'admin']],
    ['admin', ['admin']],
  ])('a role that allows what needs %s is one of %j', (needed, may) => {
    const { access } = open();
    for (const role of roles) {
      const actor: Actor = { ...anonymous, name: 'Ada', role };
      const refused = role === undefined ? 'http.unauthenticated' : 'http.forbidden';
      expect(codeOf(() => access.require(actor, needed))).toBe(may.includes(role) ? undefined : refused);
      expect(allows(role, needed)).toBe(may.includes(role));
    }
  });

  test('a role that does not suffice is named in the refusal, with the required one', async () => {
    const { access } = open();
    const refusal = (needed: Needed): unknown => {
      try {
        access.require({ ...anonymous, name: 'Ada', role: 'viewer' }, needed);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    expect(refusal('admin')).toMatchObject({
      facts: { role: 'viewer', needed: 'admin' },
      message: expect.stringContaining('--role admin'),
    });
    expect(refusal('operator or approver')).toMatchObject({
      message: expect.stringContaining('--role approver'),
    });
  });
});

describe('the principals of a token', () => {
  const listed: TokenPrincipals = {
    userId: ['ann', 'bob'],
    role: ['*'],
    claims: { team: ['ops', 'dev'], level: [1] },
  };
  const refused = (principal: object | undefined, list: TokenPrincipals | undefined = listed): boolean =>
    codeOf(() => refusePrincipal({ name: 't', principals: list }, principal as never)) === 'http.forbidden';

  test('are the only ones it may act for', async () => {
    expect(refused({ userId: 'ann' })).toBe(false);
    expect(refused({ userId: 'bob', role: 'anything' })).toBe(false);
    expect(refused({ userId: 'ann', orgId: undefined })).toBe(false);
    expect(refused({ claims: { team: 'ops', level: 1 } })).toBe(false);
    expect(refused({ claims: { team: ['ops', 'dev'] } })).toBe(false);
    expect(
      codeOf(() => refusePrincipal({ name: 't', principals: undefined }, { userId: 'eve' })),
    ).toBeUndefined();
    for (const principal of [
      undefined,
      {},
      { userId: undefined },
      { userId: 'eve' },
      { userId: 'ann', orgId: 'acme' },
      { userId: ['ann'], ticketRef: 'x' },
      { claims: { team: 'law' } },
      { claims: { team: ['ops', 'law'] } },
      { claims: { team: [] } },
      { claims: { other: 'ops' } },
      { claims: { toString: 'ops' } },
      { claims: 'ops' },
      { unknown: 'ann' },
    ])
      expect([principal, refused(principal)]).toEqual([principal, true]);
  });

  test('are read as lists by field, and anything else is refused', async () => {
    expect(readTokenPrincipals({ userId: ['ann'] })).toEqual({ userId: ['ann'] });
    expect(readTokenPrincipals({ claims: { team: ['ops'], level: [1] } })).toBeDefined();
    for (const wrong of [
      undefined,
      [],
      {},
      { userId: 'ann' },
      { userId: [5] },
      { userId: ['ann', 5] },
      { user: ['ann'] },
      { userId: ['ann'], user: ['ann'] },
      { claims: ['ops'] },
      { claims: { team: 'ops' } },
      { claims: { team: ['ops'], level: 1 } },
    ])
      expect([wrong, readTokenPrincipals(wrong)]).toEqual([wrong, undefined]);
  });
});

describe('a rate limit', () => {
  test('lets each caller send its burst, and says when to retry', async () => {
    // So slow that the test itself never refills the bucket.
    const limit = new RateLimit({ perSecond: 0.001, burst: 3 });
    const take = (asker: string): unknown => codeOf(() => limit.take(asker));
    expect(['a', 'a', 'a', 'b'].map(take)).toEqual([undefined, undefined, undefined, undefined]);
    expect(take('a')).toBe('http.too_many_requests');
    expect([take('b'), take('b'), take('b')]).toEqual([undefined, undefined, 'http.too_many_requests']);
    const refused = expect.objectContaining({
      headers: { 'retry-after': expect.stringMatching(/^(9\d\d|1000)$/) as unknown },
    }) as Error;
    expect(() => limit.take('a')).toThrow(refused);
  });
});
