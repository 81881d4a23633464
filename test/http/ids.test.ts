/** Ids of sessions and calls may be any text, and are part of URLs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallDetail } from '@quittance/server';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const ids = ['report.html', 'a.pdf', 'index.html', 'x.js', '...', '.env', 'a/b.css', 'openapi.json'];

test.each(ids)(
  'a call and a session named %j are found by the API, and are not taken for files',
  async (id) => {
    const sent = { sessionId: id, call: { id, name: 'read_note', arguments: { id } }, waitMs: 60_000 };
    expect((await app.post('/v1/calls', sent, 'operator')).status).toBe(200);
    const step = encodeURIComponent(id);
    const found = await app.get<CallDetail>(`/v1/sessions/${step}/calls/${step}`);
    expect([found.status, found.body.call.callId]).toEqual([200, id]);
    const page = await app.get<string>(`/calls/${step}/${step}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  },
);

test('a missing file is not found', async () => {
  for (const path of ['/nothing.html', '/assets/nothing.js', '/assets/deeper/nothing.css'])
    expect([path, (await app.get(path)).status]).toEqual([path, 404]);
});

test.each(['.', '..'])('a call or a session named %j is refused', async (id) => {
  for (const [sessionId, callId] of [
    [id, 'c'],
    ['s', id],
  ]) {
    const sent = { sessionId, call: { id: callId, name: 'read_note', arguments: { id: 'n' } } };
    expect((await app.post('/v1/calls', sent, 'operator')).status).toBe(400);
  }
  expect((await app.post('/v1/grants', { sessionId: id, toolName: '*' })).status).toBe(400);
});
