/** A decision request that is sent twice, and requests that only look like a repeat. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallAnswer, Problem } from '@quittance/server';
import { createManualClock } from 'quittance/testing';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;

const clock = createManualClock(1_000_000);
let app: TestServer;
beforeAll(async () => {
  app = await startServer({}, clock);
});
afterAll(() => app.close());

const hold = async (id: string, more: object = {}): Promise<Held> =>
  (await app.ask<Held>(id, 'delete_file', { path: `/tmp/${id}`, ...more })).body;

/** The status of a decision, and the code of its refusal. */
const decide = async (
  { confirmationId }: Held,
  decision: object,
  as: 'approver' | 'admin' = 'approver',
): Promise<readonly [number, string | undefined]> => {
  const { status, body } = await app.post<Problem>(
    `/v1/confirmations/${confirmationId}/decision`,
    decision,
    as,
  );
  return [status, body.code];
};
const decided = [409, 'confirmation.decided'];

describe('a repeated decision gets the same answer for the same person, and only with the same', () => {
  test('input', async () => {
    const held = await hold('d1');
    expect(await decide(held, { decision: 'deny', inputDigest: held.inputDigest })).toEqual([200, undefined]);
    expect(await decide(held, { decision: 'deny', inputDigest: held.inputDigest })).toEqual([200, undefined]);
    expect(await decide(held, { decision: 'deny' })).toEqual([200, undefined]);
    expect(await decide(held, { decision: 'deny', inputDigest: 'sha256:0' })).toEqual(decided);
    expect(await decide(held, { decision: 'deny' }, 'admin')).toEqual(decided);
  });

  test('arguments', async () => {
    const held = await hold('d2');
    const edit = (path: string): object => ({
      decision: 'edit',
      inputDigest: held.inputDigest,
      arguments: { path },
    });
    expect(await decide(held, edit('/tmp/other'))).toEqual([200, undefined]);
    expect(await decide(held, edit('/tmp/other'))).toEqual([200, undefined]);
    expect(await decide(held, edit('/tmp/third'))).toEqual(decided);
  });

  test('arguments, if the hidden ones cannot be compared', async () => {
    const held = await hold('d3', { password: 'hunter2-before' });
    const edit = (password: string): object => ({
      decision: 'edit',
      inputDigest: held.inputDigest,
      arguments: { path: '/tmp/other', password },
    });
    expect(await decide(held, edit('hunter2-after'))).toEqual([200, undefined]);
    for (const password of ['hunter2-after', 'hunter2-never', '[REDACTED]'])
      expect(await decide(held, edit(password))).toEqual(decided);
  });

  test('words for the model', async () => {
    const held = await hold('d4');
    const say = (response: string): object => ({ decision: 'respond', response });
    expect(await decide(held, say('Leave it.'))).toEqual([200, undefined]);
    expect(await decide(held, say('Leave it.'))).toEqual([200, undefined]);
    expect(await decide(held, say('Try another.'))).toEqual(decided);
  });
});

test('a repeated resolution gets the same answer for the same person, and only if it is the same', async () => {
  const waiting = app.ask('c1', 'charge_card', {}, { waitMs: 60_000 });
  await expect.poll(async () => (await app.ledger.readCall('s1', 'c1'))?.version ?? 0).toBeGreaterThan(0);
  await expect
    .poll(async () => {
      clock.advance(1_000);
      return (await app.runtime.calls.unresolved({})).rows.length;
    })
    .toBe(1);
  await waiting;
  const resolve = async (found: object, as: 'approver' | 'admin' = 'approver'): Promise<number> =>
    (await app.post('/v1/sessions/s1/calls/c1/resolution', found, as)).status;
  const found = { resolution: 'succeeded', result: { id: 7 } };
  expect(await resolve(found)).toBe(200);
  expect(await resolve(found)).toBe(200);
  expect(await resolve({ resolution: 'succeeded', result: { id: 8 } })).toBe(409);
  expect(await resolve({ resolution: 'succeeded' })).toBe(409);
  expect(await resolve(found, 'admin')).toBe(409);
});

test('a link for a person also names its maker', async () => {
  const held = await hold('d6');
  const made = await app.post<{ token: string }>(
    `/v1/confirmations/${held.confirmationId}/link`,
    { by: 'Bob', expiresInMs: 60_000 },
    'approver',
  );
  const response = await fetch(`${app.server.url}/v1/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: made.body.token, decision: 'deny' }),
  });
  const used = { body: (await response.json()) as { by: object } };
  expect(used.body.by).toMatchObject({
    type: 'person',
    name: 'Bob',
    identity: {
      kind: 'link',
      maker: { kind: 'person', name: 'approver-person', identity: { kind: 'token', via: 'bearer' } },
      holder: { kind: 'named' },
    },
  });
});

test('a decision link shows and decides nothing after its expiry', async () => {
  const held = await hold('d5');
  const made = await app.post<{ token: string }>(
    `/v1/confirmations/${held.confirmationId}/link`,
    { expiresInMs: 1_000 },
    'approver',
  );
  const use = async (path: string, more: object = {}): Promise<number> =>
    (
      await fetch(app.server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token: made.body.token, ...more }),
      })
    ).status;
  clock.advance(999);
  expect(await use('/v1/decisions/read')).toBe(200);
  clock.advance(1);
  expect(await use('/v1/decisions/read')).toBe(403);
  expect(await use('/v1/decisions', { decision: 'deny', by: 'Eve' })).toBe(410);
  const { rows } = await app.runtime.confirmations.list({ status: 'pending' });
  expect(rows.map(({ callId }) => callId)).toContain('d5');
});

test('a decision link states what it allows', async () => {
  const held = await hold('d7');
  const allowedBy = async (more: object): Promise<unknown> => {
    const { confirmationId } = held;
    const made = await app.post<{ token: string }>(
      `/v1/confirmations/${confirmationId}/link`,
      { expiresInMs: 60_000, ...more },
      'approver',
    );
    const read = await app.post<{ allowed: unknown }>('/v1/decisions/read', { token: made.body.token });
    expect(read.body).toMatchObject({ confirmationId, status: 'pending' });
    return read.body.allowed;
  };
  expect(await allowedBy({})).toEqual(['approve', 'deny']);
  expect(await allowedBy({ decisions: ['deny'] })).toEqual(['deny']);
});
