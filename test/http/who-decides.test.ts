/** Every way in which a decision or a resolution arrives over HTTP, by role, by token and by requester. */
import { allows } from '../../packages/quittance/src/call/role.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallAnswer, CallDetail, Problem, Role } from '@quittance/server';
import { routes } from '../../packages/server/src/http/routes.ts';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { Answer, TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';
import { untilDecided } from '../until-decided.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;

let app: TestServer;
let tokens: TokenFile;
beforeAll(async () => {
  app = await startServer();
  tokens = new TokenFile(tokenFilePath(app.ledgerPath), Date.now);
});
afterAll(() => app.close());

async function send<Body = Problem>(path: string, body: object, token?: string): Promise<Answer<Body>> {
  const response = await fetch(app.server.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Body,
    headers: response.headers,
  };
}

const ask = async (id: string, token: string, more: object = {}): Promise<Answer<Held & Problem>> =>
  send(
    '/v1/calls',
    {
      sessionId: 's1',
      call: { id, name: 'delete_file', arguments: { path: `/tmp/${id}` } },
      waitMs: 5_000,
      ...more,
    },
    token,
  );

const hold = async (id: string): Promise<Held> => {
  const { body } = await untilDecided(
    () => ask(id, app.tokens.operator, { waitMs: 0 }),
    (answer) => answer.body,
  );
  return body;
};

/** The routes by which a person or a program decides about a call, and their roles. */
const doors: Readonly<Record<string, string>> = {
  'POST /v1/calls': 'operator',
  'POST /v1/sessions/{sessionId}/calls/{callId}/resolution': 'operator or approver',
  'POST /v1/sessions/{sessionId}/calls/{callId}/undo': 'operator',
  'POST /v1/sessions/{sessionId}/forks': 'operator',
  'POST /v1/confirmations/{confirmationId}/decision': 'approver',
  'POST /v1/confirmations/{confirmationId}/link': 'approver',
  // Decides nothing.
  'POST /v1/confirmations/{confirmationId}/try': 'approver',
  'POST /v1/decisions/read': 'anyone',
  'POST /v1/decisions': 'anyone',
  'POST /v1/grants': 'approver',
  'POST /v1/sessions/{sessionId}/grants/{grantId}/revoke': 'approver',
  'POST /v1/delegations': 'approver',
  'POST /v1/delegations/{delegationId}/revoke': 'approver',
  'POST /v1/mcp/servers/{serverId}/review': 'approver',
  'POST /v1/mcp/servers/{serverId}/forget': 'approver',
  'POST /v1/handoffs/claim': 'operator',
  'POST /v1/handoffs/report': 'operator',
};

test('bound-approval: every route that changes something is known, with its role', () => {
  // These explain, replay and stop work of the server. They change no call.
  const readsOnly = /^\/v1\/(?:contracts|jobs)\//;
  const other = new Set(['admin', 'viewer']);
  const found = routes
    .filter(({ method, path, access }) => method !== 'GET' && !other.has(access) && !readsOnly.test(path))
    .map(({ method, path, access }) => [`${method} ${path}`, access]);
  expect(Object.fromEntries(found)).toEqual(doors);
});

test('only the roles of a route may use it, and no client without a token', async () => {
  const roles: readonly Role[] = ['viewer', 'operator', 'approver', 'admin'];
  for (const { method, path, access } of routes) {
    if (doors[`${method} ${path}`] === undefined || access === 'anyone') continue;
    const address = path.replaceAll(/\{\w+\}/g, 'x');
    expect([path, (await send(address, {})).status]).toEqual([path, 401]);
    for (const role of roles) {
      const { status, body } = await send(address, { nothing: 'fits' }, app.tokens[role]);
      const isRefused = status === 403 && body.code === 'http.forbidden';
      expect([path, role, isRefused]).toEqual([path, role, !allows(role, access)]);
    }
  }
});

describe('an unresolved call', () => {
  const lose = async (id: string, token: string): Promise<string> => {
    // Its own session: calls with equal arguments in one session would be twins.
    const sent = { sessionId: id, call: { id, name: 'charge_card', arguments: {} }, waitMs: 60_000 };
    await send('/v1/calls', sent, token);
    await expect
      .poll(async () => (await app.runtime.calls.unresolved({})).rows.map(({ callId }) => callId))
      .toContain(id);
    return `/v1/sessions/${id}/calls/${id}/resolution`;
  };

  test('is resolved by an approver other than the requester, with any resolution', async () => {
    const asker = tokens.create({ name: 'Root', role: 'admin' });
    const again = tokens.create({ name: 'Root-2', role: 'admin', person: 'root' });
    const path = await lose('lost1', asker.token);
    for (const resolution of ['safe_to_retry', 'failed', 'succeeded'])
      for (const token of [asker.token, again.token, app.tokens.operator]) {
        const { status } = await send(path, { resolution, reason: 'seen' }, token);
        expect([resolution, status]).toEqual([resolution, 403]);
      }
    const found = { resolution: 'safe_to_retry', reason: 'seen' };
    const { body } = await send<CallDetail>(path, found, app.tokens.approver);
    expect(body.call.askedBy).toEqual({
      kind: 'token',
      id: asker.record.tokenId,
      name: 'Root',
      via: 'bearer',
      roles: ['admin'],
    });
    expect(body.call.resolution?.by).toMatchObject({
      name: 'approver-person',
      identity: { kind: 'token', name: 'approver-person', via: 'bearer' },
      asker: 'other',
    });
    expect(JSON.stringify(body.events)).toContain(`"id":"${asker.record.tokenId}"`);
  });

  test('may run again under another id only if an approver other than the requester agrees', async () => {
    const asker = tokens.create({ name: 'Tess', role: 'admin' });
    await lose('twin1', asker.token);
    const sent = { sessionId: 'twin1', call: { id: 'twin2', name: 'charge_card', arguments: {} } };
    const { body: held } = await untilDecided(
      () => send<Held>('/v1/calls', sent, asker.token),
      (answer) => answer.body,
    );
    expect(held.description).toContain('twin1');
    const path = `/v1/confirmations/${held.confirmationId}/decision`;
    const approve = { decision: 'approve', inputDigest: held.inputDigest };
    expect((await send(path, approve, asker.token)).status).toBe(403);
    expect((await send(path, approve, app.tokens.approver)).status).toBe(200);
  });

  test('is not resolved by the requester with a new token of the same name', async () => {
    const first = tokens.create({ name: 'Sam', role: 'admin' });
    const path = await lose('lost2', first.token);
    tokens.revoke('Sam');
    const second = tokens.create({ name: 'Sam', role: 'admin' });
    expect((await send(path, { resolution: 'failed' }, second.token)).status).toBe(403);
  });
});

describe('a decision link', () => {
  const link = (id: Held, body: object, token: string): Promise<Answer<Problem & { token: string }>> =>
    send(`/v1/confirmations/${id.confirmationId}/link`, { expiresInMs: 60_000, ...body }, token);
  const use = (token: string, body: object = {}, as?: string): Promise<Answer<Problem>> =>
    send('/v1/decisions', { token, decision: 'approve', ...body }, as);

  test('ends with the token of its maker, and with that of the person it names', async () => {
    const held = await hold('l1');
    const maker = tokens.create({ name: 'Maker', role: 'approver' });
    const named = tokens.create({ name: 'Nora', role: 'approver' });
    const unnamed = await link(held, {}, maker.token);
    const forNora = await link(held, { by: 'Nora' }, app.tokens.approver);
    expect([unnamed.status, forNora.status]).toEqual([200, 200]);
    tokens.revoke(maker.record.tokenId);
    tokens.revoke(named.record.tokenId);
    for (const made of [unnamed, forNora]) {
      const used = await use(made.body.token, { by: 'Nora' });
      expect([used.status, used.body.code]).toEqual([403, 'confirmation.forbidden']);
      expect((await send('/v1/decisions/read', { token: made.body.token })).status).toBe(403);
    }
    expect(
      (await app.runtime.confirmations.list({ status: 'pending' })).rows.map(({ callId }) => callId),
    ).toContain('l1');
  });

  test('is made only for a person who may decide, and for 7 days at most', async () => {
    const held = await hold('l2');
    expect((await link(held, { by: 'viewer-person' }, app.tokens.approver)).status).toBe(403);
    expect((await link(held, { by: 'VIEWER PERSON' }, app.tokens.approver)).status).toBe(403);
    const long = await link(held, { expiresInMs: 7 * 24 * 3_600_000 + 1 }, app.tokens.approver);
    expect([long.status, long.body.detail]).toEqual([400, expect.stringContaining('7 days')]);
  });

  test('decides as the signed-in person, if they may', async () => {
    const held = await hold('l3');
    const made = await link(held, {}, app.tokens.approver);
    for (const role of ['viewer', 'operator'] as const)
      expect((await use(made.body.token, {}, app.tokens[role])).status).toBe(403);
    const used = await use(made.body.token, { decision: 'deny', by: 'somebody else' }, app.tokens.admin);
    expect(used.body).toMatchObject({
      by: {
        name: 'admin-person',
        identity: {
          kind: 'link',
          maker: { kind: 'person', name: 'approver-person' },
          holder: { kind: 'signed_in', identity: { kind: 'token', name: 'admin-person' } },
        },
      },
    });
  });

  test('a decision link of the service gives no permission: the person who uses it signs in', async () => {
    const held = await hold('l4');
    const token = await app.runtime.confirmations.link(held.confirmationId, { expiresInMs: 60_000 });
    expect((await use(token, { by: 'approver-person' })).status).toBe(403);
    expect((await use(token, {}, app.tokens.operator)).status).toBe(403);
    expect((await use(token, { decision: 'deny' }, app.tokens.approver)).status).toBe(200);
  });
});

describe('a token', () => {
  test('a token with principals acts for those only', async () => {
    const { token } = tokens.create({
      name: 'bound',
      role: 'operator',
      principals: { userId: ['bob'], orgId: ['*'], claims: { team: ['ops', 'web'] } },
    });
    for (const principal of [
      undefined,
      {},
      { userId: 'eve' },
      { userId: 'BOB' },
      { userId: 'bob', role: 'admin' },
      { userId: 'bob', claims: { team: 'finance' } },
      { userId: 'bob', claims: { team: ['ops', 'finance'] } },
      { userId: 'bob', claims: { constructor: 'x' } },
    ]) {
      const { status, body } = await ask('bound1', token, principal === undefined ? {} : { principal });
      expect([principal, status, body.detail]).toEqual([
        principal,
        403,
        expect.stringContaining('may speak only for the principals it lists'),
      ]);
    }
    expect(await app.ledger.readCall('s1', 'bound1')).toBeUndefined();
    const principal = { userId: 'bob', orgId: 'acme', claims: { team: ['ops', 'web'] } };
    expect((await ask('bound2', token, { principal })).status).toBe(200);
  });

  test('a token and a worker are joined by a separator that neither may contain', async () => {
    expect(() => tokens.create({ name: 'a/b', role: 'operator' })).toThrow(/may not hold "\/"/);
    const { status } = await send(
      '/v1/handoffs/claim',
      { toolName: 'send_mail', worker: 'a/b' },
      app.tokens.operator,
    );
    expect(status).toBe(400);
  });

  test('has no name that looks like another', () => {
    tokens.create({ name: 'Victor', role: 'viewer' });
    for (const name of ['victor', 'VICTOR ', 'Vіctor', 'Vict\u200bor', 'Víctor', 'V.i.c.t.o.r', 'V1ctor'])
      expect(() => tokens.create({ name, role: 'viewer' })).toThrow(/looks like the name|already/);
  });
});
