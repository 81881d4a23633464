/** The trace context of programs that ask the server, and the way back from a call to its trace. */
import type { CallDetail } from '../../packages/server/src/http/api/call.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnsweredRequest } from '../../packages/server/src/http/app.ts';
import { createHttpServer } from '@quittance/server';
import type { TestServer } from '../http/start-server.ts';
import { startServer } from '../http/start-server.ts';
import { untilDecided } from '../until-decided.ts';

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let server: TestServer;
const requests: AnsweredRequest[] = [];

beforeAll(async () => {
  server = await startServer({
    traceUrl: 'https://traces.example.org/t/{traceId}?span={spanId}',
    onRequest: (request) => void requests.push(request),
  });
});
afterAll(() => server.close());

async function ask(id: string, traceparent: string): Promise<CallDetail> {
  const answer = await fetch(`${server.server.url}/v1/calls`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.tokens.operator}`,
      'content-type': 'application/json',
      traceparent,
      // Both may hold any text, so neither may get anywhere.
      tracestate: 'vendor=LEAKED-state',
      baggage: 'user=LEAKED-baggage,token=LEAKED',
    },
    body: JSON.stringify({
      sessionId: 's1',
      call: { id, name: 'read_note', arguments: { id } },
      waitMs: 60_000,
    }),
  });
  expect([answer.status, ((await answer.json()) as { decision: string }).decision]).toEqual([200, 'settled']);
  return (await server.get<CallDetail>(`/v1/sessions/s1/calls/${encodeURIComponent(id)}`)).body;
}

test('POST /v1/calls stores the traceparent of its caller, and the call links to the trace', async () => {
  const { call, traceUrl } = await ask('traced', sent);
  expect(call.traceparent).toBe(sent);
  expect(traceUrl).toBe(
    'https://traces.example.org/t/0af7651916cd43dd8448eb211c80319c?span=b7ad6b7169203331',
  );
});

test('a program that runs a call gets its traceparent, with the answer or with its claim', async () => {
  const post = async (path: string, body: object, headers = {}): Promise<unknown> => {
    const answer = await fetch(`${server.server.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.tokens.operator}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  const call = { id: 'handed', name: 'get_weather', arguments: { city: 'Rome' } };
  const asks = { sessionId: 's1', call, requestId: 'r1' };
  expect(await untilDecided(() => post('/v1/calls', asks, { traceparent: sent }))).toMatchObject({
    decision: 'allow',
    traceparent: sent,
  });
  const claim = { sessionId: 's1', callId: 'handed', requestId: 'r2', reclaim: ['r1'] };
  expect(await post('/v1/handoffs/claim', claim)).toMatchObject({ claim: { traceparent: sent } });
});

test('a trace that was not sampled has an id and no link; a malformed one is ignored', async () => {
  const unsampled = await ask('unsampled', sent.replace(/01$/, '00'));
  expect([unsampled.call.traceparent, unsampled.traceUrl]).toEqual([sent.replace(/01$/, '00'), undefined]);
  const malformed = await ask('malformed', '00-javascript:alert(1)-x-01');
  expect([malformed.call.traceparent, malformed.traceUrl]).toEqual([undefined, undefined]);
});

test('the log of requests names the trace and the call, and masks secrets', async () => {
  const secret = `sk-LEAKED${'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG'}`;
  await ask('logged', sent);
  await ask(secret, 'Bearer LEAKED');
  await ask('OWN-SECRET-7', sent);
  expect(requests.filter(({ callId }) => callId === 'logged')).toEqual([
    expect.objectContaining({
      method: 'POST',
      route: '/v1/calls',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      sessionId: 's1',
    }),
    expect.objectContaining({ method: 'GET', sessionId: 's1', traceId: undefined }),
  ]);
  expect(JSON.stringify(requests)).not.toMatch(/LEAKED|OWN-SECRET/);
  expect(JSON.stringify((await server.get('/v1/sessions/s1/calls/logged')).body)).not.toContain('LEAKED');
});

test.for([
  'javascript:alert("{traceId}")',
  'data:text/html,{traceId}',
  'https://traces.example.org/',
  'https://user:password@traces.example.org/{traceId}',
  '/{traceId}',
  '{traceId}',
])('the template %s is refused', async (traceUrl) => {
  const { ledger, runtime } = server;
  await expect(createHttpServer({ ledger, runtime, port: 0, traceUrl })).rejects.toMatchObject({
    code: 'config.invalid',
  });
});
