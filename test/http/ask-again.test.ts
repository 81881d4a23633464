import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallAnswer, HttpServer } from 'quittance/http';
import { createHttpServer } from 'quittance/http';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;
type Allowed = Extract<CallAnswer, { decision: 'allow' }>;

/** Two servers on one ledger, or one and what was started after it: neither remembers what the other was asked. */
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
): Promise<Body> => post('/v1/calls', { sessionId: 's1', call: { id, name, arguments: args } });

const approve = async ({ confirmationId, inputDigest }: Held): Promise<void> => {
  const path = `/v1/confirmations/${confirmationId}/decision`;
  expect((await app.post(path, { decision: 'approve', inputDigest }, 'approver')).status).toBe(200);
};

test('a call that was approved is handed to whoever asked for it, also by a server that was started since', async () => {
  const args = { path: '/a', password: 'hunter2' };
  await approve((await app.ask<Held>('r1', 'delete_file', args)).body);
  await expect.poll(async () => (await app.runtime.handoffs()).map(({ callId }) => callId)).toContain('r1');

  expect(await askLater('r1', { path: '/a', password: 'guess' })).toMatchObject({ decision: 'deny' });
  expect(await askLater('r1', { path: '/b' })).toMatchObject({ decision: 'deny' });
  const allowed = await askLater<Allowed>('r1', args);
  expect(allowed).toMatchObject({ decision: 'allow', arguments: args, attempt: 1 });
  expect(await askLater<Allowed>('r1', args)).toMatchObject({ decision: 'allow', token: allowed.token });
  expect(await askLater('r1', { path: '/b' })).toMatchObject({ decision: 'deny' });

  const report = { token: allowed.token, report: { output: 'gone' } };
  expect(await post('/v1/handoffs/report', report)).toMatchObject({ status: 'settled' });
  expect((await app.ask<CallAnswer>('r1', 'delete_file', args)).body).toMatchObject({ decision: 'settled' });
});

test('a call that somebody has in hand is running, whichever server is asked', async () => {
  const { body } = await app.ask<Allowed>('r2', 'get_weather', { city: 'Bern' });
  expect(body.decision).toBe('allow');
  expect(await askLater('r2', '{"city": "Bern"}', 'get_weather')).toMatchObject({
    decision: 'running',
    worker: 'operator-person',
  });
});

test('a call whose worker let its time run out goes to whoever asks for it again', async () => {
  const first = await app.ask<Allowed>('r3', 'get_weather', { city: 'Bern' }, { leaseMs: 1 });
  expect(first.body).toMatchObject({ decision: 'allow', attempt: 1 });
  await expect
    .poll(() => askLater('r3', { city: 'Bern' }, 'get_weather'))
    .toMatchObject({ decision: 'allow', attempt: 2 });
});
