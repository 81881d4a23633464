/**
 * Requests that would block the event loop with one large call, one large body or the whole past are refused.
 */
import { alterLedger } from '../alter-ledger.ts';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import type { Runtime } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import { createRuntime, defineTool } from 'quittance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Followers } from '../../packages/server/src/http/followers.ts';
import { largestChangedBytes } from '../../packages/server/src/http/large-calls.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

type Problem = { readonly code: string; readonly detail: string };

let app: TestServer;
let runtime: Runtime;
let confirmationId: string;
const large = 'x'.repeat(largestChangedBytes + 1_000);
const session = '/v1/sessions/large/calls';

beforeAll(async () => {
  app = await startServer();
  const tools = [
    defineTool({
      name: 'set_text',
      mode: 'destructive',
      input: z.object({ text: z.string() }),
      run: () => 1,
    }),
    defineTool({
      name: 'get_text',
      mode: 'read',
      loopLimit: 1e9,
      input: z.object({ text: z.string() }),
      run: () => 1,
    }),
    defineTool({ name: 'get_weather', input: z.object({ city: z.string() }), handoff: true }),
  ];
  runtime = createRuntime({ tools, ledger: app.ledger });
  const turn = runtime.turn({ sessionId: 'large' });
  void turn.call({ id: 'held', name: 'set_text', arguments: { text: large } }).catch(() => undefined);
  void turn.call({ id: 'handed', name: 'get_weather', arguments: { city: large } }).catch(() => undefined);
  await turn.call({ id: 'done', name: 'get_text', arguments: { text: large } });
  await turn.call({ id: 'huge', name: 'get_text', arguments: { text: 'x'.repeat(9_000_000) } });
  for (let n = 0; n < 16; n++)
    await runtime
      .turn({ sessionId: 'wide' })
      .call({ id: `c${n}`, name: 'get_text', arguments: { text: `${n}${'y'.repeat(1_000_000)}` } });
  while ((await runtime.confirmations.list()).rows.length === 0) await new Promise(setImmediate);
  while ((await runtime.handoffs.list()).length === 0) await new Promise(setImmediate);
  confirmationId = (await runtime.confirmations.list()).rows[0]?.confirmationId ?? '';
});
afterAll(async () => {
  await runtime.close();
  await app.close();
});

const refused = async (asked: Promise<{ status: number; body: Problem }>): Promise<string> => {
  const { status, body } = await asked;
  expect([status, body.code]).toEqual([413, 'http.too_large']);
  return body.detail;
};

describe('a call that is larger than the event loop may read', () => {
  test('is shown, by a thread', async () => {
    const path = `/v1/confirmations/${confirmationId}`;
    const { status, body } = await app.get<ConfirmationView>(path, 'viewer');
    expect([status, body.status]).toEqual([200, 'pending']);
  });

  test('cannot be decided over HTTP, and no link is made for it', async () => {
    const path = `/v1/confirmations/${confirmationId}`;
    const detail = await refused(app.post<Problem>(`${path}/decision`, { decision: 'deny' }, 'approver'));
    expect(detail).toMatch(
      /has 2\d{6} bytes in the ledger, and calls of at most 2097152 are changed over HTTP/,
    );
    await refused(app.post<Problem>(`${path}/link`, { expiresInMs: 1_000 }, 'approver'));
    const token = await runtime.confirmations.link(confirmationId, { by: 'Ada', expiresInMs: 60_000 });
    await refused(app.post<Problem>('/v1/decisions', { token, decision: 'deny' }));
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
  });

  test('cannot be repeated, claimed, resolved or undone over HTTP', async () => {
    const call = { id: 'done', name: 'get_text', arguments: { text: 'a' } };
    const detail = await refused(app.post<Problem>('/v1/calls', { sessionId: 'large', call }, 'operator'));
    expect(detail).toContain('2097152');
    const claim = { sessionId: 'large', callId: 'handed' };
    await refused(app.post<Problem>('/v1/handoffs/claim', claim, 'operator'));
    await refused(app.post<Problem>(`${session}/done/resolution`, { resolution: 'failed' }, 'approver'));
    await refused(app.post<Problem>(`${session}/done/undo`, {}, 'operator'));
  });

  test('is skipped for a worker that asks for any call of its tool', async () => {
    const answer = await app.post<{ claim: unknown }>(
      '/v1/handoffs/claim',
      { toolName: 'get_weather' },
      'operator',
    );
    expect([answer.status, answer.body.claim]).toEqual([200, null]);
    const claimed = await runtime.handoffs.claim({ toolName: 'get_weather' }, { worker: 'here' });
    expect(claimed?.callId).toBe('handed');
  });
});

describe('a body that rules judge', () => {
  const ask = (args: object): Promise<{ status: number; body: Problem }> =>
    app.post<Problem>(
      '/v1/calls',
      { sessionId: 's', call: { id: 'c', name: 'read_note', arguments: args } },
      'operator',
    );

  test('has at most 64 KiB and 1,000 values', async () => {
    expect(await refused(ask({ id: 'x'.repeat(65_536) }))).toContain('65536 bytes');
    expect(await refused(ask({ list: Array.from({ length: 1_100 }, () => 1) }))).toContain(
      '1000 JSON values',
    );
    expect((await ask({ id: 'x'.repeat(60_000) })).status).toBe(200);
  });

  test('has the same limits if the rules in force are explained', async () => {
    const explain = (args: object): Promise<{ status: number; body: Problem }> =>
      app.post<Problem>('/v1/contracts/explain', { toolName: 'send_mail', arguments: args }, 'operator');
    expect(await refused(explain({ to: 'x'.repeat(70_000) }))).toContain('65536 characters');
    await refused(explain({ to: Array.from({ length: 1_100 }, () => 1) }));
    expect((await explain({ to: 'a stranger' })).status).toBe(200);
  });
});

describe('an export', () => {
  const open = async (path: string): Promise<IncomingMessage> => {
    const asked = request(app.server.url + path, {
      headers: { authorization: `Bearer ${app.tokens.admin}` },
    });
    asked.on('error', () => undefined);
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    return response;
  };

  test('an export with an entry that is too large is refused before it starts', async () => {
    for (const path of ['/v1/export', '/v1/export?sessionId=large'])
      expect(await refused(app.get<Problem>(path))).toMatch(/entry at position \d+ has 9\d{6} bytes/);
    expect((await app.get('/v1/export?sessionId=none')).status).toBe(404);
  });

  test('takes one of two slots until its reader has all of it or is gone', async () => {
    // More than the buffers of the connection hold, so none of them ends by itself.
    const first = await open('/v1/export?sessionId=wide');
    const second = await open('/v1/export?sessionId=wide');
    expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
    const third = await app.get<Problem>('/v1/export?sessionId=wide');
    expect([third.status, third.body.code]).toEqual([429, 'http.too_many_requests']);
    first.destroy();
    await expect
      .poll(async () => {
        const again = await open('/v1/export?sessionId=wide');
        again.destroy();
        return again.statusCode;
      })
      .toBe(200);
    let bytes = 0;
    for await (const piece of second) bytes += (piece as Buffer).byteLength;
    expect(bytes).toBeGreaterThan(16_000_000);
  });
});

describe('the list of hand-offs', () => {
  test('only reads: a call that is due is left out, and stays unchanged', async () => {
    const tool = defineTool({
      name: 'get_time',
      input: z.object({}),
      handoff: true,
      timeoutMs: 2_000,
    });
    const other = createRuntime({ tools: [tool], ledger: app.ledger });
    const asked = other.turn({ sessionId: 'due' }).call({ id: 'due', name: 'get_time', arguments: {} });
    asked.catch(() => undefined);
    while ((await app.ledger.readCall('due', 'due')) === undefined) await new Promise(setImmediate);
    await other.close(); // no process waits for it any more
    const closedAt = app.ledger.now();
    await expect.poll(() => app.ledger.now() - closedAt).toBeGreaterThan(2_000);
    const before = await lastPosition(app.ledger);
    const { status, body } = await app.get<{ rows: { callId: string }[] }>('/v1/handoffs', 'viewer');
    expect([status, body.rows.map(({ callId }) => callId)]).toEqual([200, ['handed']]);
    expect(await lastPosition(app.ledger)).toBe(before);
    // Looking for work ends it.
    await runtime.handoffs.list();
    expect(await lastPosition(app.ledger)).toBeGreaterThan(before);
  });
});

describe('followers', () => {
  test('followers of one caller read the past at a limited rate, and new entries at once', async () => {
    const tool = defineTool({
      name: 'get_id',
      mode: 'read',
      loopLimit: 1e9,
      input: z.object({}),
      run: () => 1,
    });
    const made = createRuntime({ tools: [tool], ledger: app.ledger });
    const turn = made.turn({ sessionId: 'news' });
    for (let n = 0; n < 60; n++) await turn.call({ id: `n${n}`, name: 'get_id', arguments: {} });
    const measured = new Set<number>();
    const watched = alterLedger(app.ledger, {
      rows: {
        sizes: (query) => {
          // A look at 51 sizes only asks whether there are more than 50 new entries.
          if ('limit' in query && query.limit > 51) measured.add(query.after ?? 0);
          return app.ledger.query('sizes', query);
        },
      },
    });
    const followers = new Followers(
      watched,
      { heartbeatMs: 60_000, stallMs: 60_000, most: 10, pastRate: { perSecond: 0, burst: 262_144 } },
      { revision: () => '', now: () => 0 },
    );
    const pass = { isGood: () => true, expiresAt: undefined };
    const filter = { type: 'no.such' };
    const follow = (after: number, caller: string, of: object): ReadableStreamDefaultReader<Uint8Array> =>
      followers.follow(after, of, pass, undefined, { caller }).getReader();
    const slow = follow(0, 'eve', filter);
    await slow.read(); // the position to resume from
    const more = slow.read();
    // The other caller is served while the first is held back.
    const late = follow((await lastPosition(app.ledger)) - 10, 'ada', {});
    await late.read();
    expect(new TextDecoder().decode((await late.read()).value)).toContain('event: entry');
    await turn.call({ id: 'last', name: 'get_id', arguments: {} });
    expect(new TextDecoder().decode((await late.read()).value)).toContain('"last"');
    expect([...measured].filter((after) => after < 50)).toEqual([0]);
    followers.close();
    await Promise.all([slow.cancel(), late.cancel(), more]);
    await made.close();
  });
});
