import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HandoffView } from 'quittance/runtime';
import type { CallAnswer, ClaimAnswer, HttpServer } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import type { Answer, TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';
import { untilDecided } from '../until-decided.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;
type Allowed = Extract<CallAnswer, { decision: 'allow' }>;

/** Two servers on one ledger, or one and its successor: neither knows what the other was asked. */
let app: TestServer;
let later: HttpServer;
beforeAll(async () => {
  app = await startServer();
  const { ledger, runtime, ledgerPath } = app;
  later = await createHttpServer({ ledger, runtime, ledgerUrl: ledgerPath, port: 0 });
});
afterAll(async () => {
  await later.close();
  await app.close();
});

const post = async <Body>(path: string, body: object): Promise<Body> => {
  const headers = { authorization: `Bearer ${app.tokens.operator}`, 'content-type': 'application/json' };
  const answer = await fetch(later.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as Body;
};
const askLater = <Body = CallAnswer>(
  id: string,
  args: object | string,
  name = 'delete_file',
  more: object = {},
): Promise<Body> =>
  untilDecided(() => post('/v1/calls', { sessionId: 's1', call: { id, name, arguments: args }, ...more }));

const approve = async ({ confirmationId, inputDigest }: Held): Promise<void> => {
  const path = `/v1/confirmations/${confirmationId}/decision`;
  expect((await app.post(path, { decision: 'approve', inputDigest }, 'approver')).status).toBe(200);
};

test('an approved call is handed to the client that requested it, even by a server started since', async () => {
  const args = { path: '/a', password: 'hunter2' };
  await approve((await app.ask<Held>('r1', 'delete_file', args)).body);
  await expect
    .poll(async () => (await app.runtime.handoffs.list()).map(({ callId }) => callId))
    .toContain('r1');

  expect(await askLater('r1', { path: '/a', password: 'guess' })).toMatchObject({ decision: 'deny' });
  expect(await askLater('r1', { path: '/b' })).toMatchObject({ decision: 'deny' });
  const allowed = await askLater<Allowed>('r1', args);
  expect(allowed).toMatchObject({ decision: 'allow', arguments: args, attempt: 1 });
  expect(await askLater('r1', args)).toMatchObject({ decision: 'running', worker: 'operator-person' });
  // Waits, since the call of the id runs until this request is judged.
  const other = await askLater('r1', { path: '/b' }, 'delete_file', { waitMs: 60_000 });
  expect(other).toMatchObject({ decision: 'deny' });

  const report = { token: allowed.token, report: { output: 'gone' } };
  expect(await post('/v1/handoffs/report', report)).toMatchObject({ status: 'settled' });
  expect((await app.ask<CallAnswer>('r1', 'delete_file', args)).body).toMatchObject({ decision: 'settled' });
});

test('a claimed call is running, whichever server is asked', async () => {
  const { body } = await app.ask<Allowed>('r2', 'get_weather', { city: 'Bern' });
  expect(body.decision).toBe('allow');
  expect(await askLater('r2', '{"city": "Bern"}', 'get_weather')).toMatchObject({
    decision: 'running',
    worker: 'operator-person',
  });
});

test('a call handed to one client is not handed to another that requests the same on the same server', async () => {
  const ask = (as: 'operator' | 'admin', more: object = {}): Promise<Answer<Allowed>> =>
    app.post<Allowed>(
      '/v1/calls',
      { sessionId: 's1', call: { id: 'r4', name: 'get_weather', arguments: { city: 'Rome' } }, ...more },
      as,
    );
  const { body } = await ask('operator');
  expect(body.decision).toBe('allow');
  for (const other of [await ask('admin', { reclaim: ['x'] }), await ask('operator', { worker: 'two' })])
    expect(other.body).toMatchObject({ decision: 'running', worker: 'operator-person' });
});

test('the worker of a call is named by its token, whatever the worker’s own name is', async () => {
  const turn = app.runtime.turn({ sessionId: 's1' });
  const asking = turn.call({ id: 'r5', name: 'send_mail', arguments: { to: 'ada' } });
  const find = async (): Promise<HandoffView | undefined> =>
    (await app.runtime.handoffs.list()).find(({ callId }) => callId === 'r5');
  await expect.poll(find).toMatchObject({ status: 'waiting' });
  const { body } = await app.post<ClaimAnswer>(
    '/v1/handoffs/claim',
    { sessionId: 's1', callId: 'r5', worker: 'admin-person' },
    'operator',
  );
  expect(await find()).toMatchObject({ status: 'taken', worker: 'operator-person/admin-person' });
  await app.post('/v1/handoffs/report', { token: body.claim?.token, report: { output: 'sent' } }, 'operator');
  expect(await asking).toMatchObject({ output: 'sent' });
});

test('a call whose lease ended is not handed out a second time by the same server', async () => {
  const lease = { leaseMs: 1 };
  const first = await app.ask<Allowed>('r6', 'get_weather', { city: 'Bern' }, lease);
  await expect
    .poll(async () => (await app.ask<Allowed>('r6', 'get_weather', { city: 'Bern' })).body.attempt)
    .toBe(2);
  const again = await app.ask<Allowed>('r6', 'get_weather', { city: 'Bern' });
  expect(again.body.token).not.toBe(first.body.token);
});

test('a call whose lease ended goes to the client that requests it again', async () => {
  const first = await app.ask<Allowed>('r3', 'get_weather', { city: 'Bern' }, { leaseMs: 1 });
  expect(first.body).toMatchObject({ decision: 'allow', attempt: 1 });
  await expect
    .poll(() => askLater('r3', { city: 'Bern' }, 'get_weather'))
    .toMatchObject({ decision: 'allow', attempt: 2 });
});
