/** Every route gets its worst requests, on a ledger with large rows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';
import { generatedRequests, hostileChanges, hostileRequests } from './hostile-requests.ts';
import type { HostileRequest, LargeThings } from './hostile-requests.ts';
import { routesIn } from './open-api-routes.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
let large: LargeThings;

beforeAll(async () => {
  // Most of the costly documents take as long as they may, so the limit is short.
  app = await startServer({ limits: { contractMs: 100 } });
  const tool = defineTool({
    name: 'get_note',
    mode: 'read',
    loopLimit: 1e9,
    input: z.object({ text: z.string() }),
    run: ({ text }) => (text.startsWith('artifact') ? text : 1),
  });
  const drop = defineTool({
    name: 'drop_note',
    mode: 'destructive',
    input: z.object({ text: z.string() }),
    run: () => 1,
  });
  const runtime = createRuntime({ tools: [tool, drop], ledger: app.ledger });
  const turn = runtime.turn({ sessionId: 'large' });
  const make = (id: string, text: string): ReturnType<typeof turn.call> =>
    turn.call({ id, name: 'get_note', arguments: { text } });
  for (let n = 0; n < 20; n++) await make(`c${n}`, `${n}${'x'.repeat(200_000)}`);
  await make('big', 'x'.repeat(900_000));
  await make('huge', 'x'.repeat(5_000_000));
  void turn
    .call({ id: 'held', name: 'drop_note', arguments: { text: 'x'.repeat(3_000_000) } })
    .catch(() => undefined);
  while ((await runtime.confirmations.list()).rows.length === 0) await new Promise(setImmediate);
  const kept = await make('kept', `artifact${'y'.repeat(2_000_000)}`);
  large = {
    sessionId: 'large',
    callId: 'big',
    hugeCallId: 'huge',
    artifactId: kept.type === 'ToolArtifactReference' ? kept.artifactId : undefined,
    confirmationId: (await runtime.confirmations.list()).rows[0]?.confirmationId ?? '',
  };
  await runtime.close();
});
afterAll(() => app.close());

async function send(request: HostileRequest): Promise<{ readonly status: number; readonly bytes: number }> {
  const { as, method, path, headers = {}, body } = request;
  const response = await fetch(app.server.url + path, {
    method,
    headers: { authorization: `Bearer ${app.tokens[as]}`, ...headers },
    ...(body !== undefined && { body }),
    // Ends one that hangs, and none that waits for its turn on a busy machine.
    signal: AbortSignal.timeout(240_000),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream) {
    await response.body?.cancel();
    return { status: response.status, bytes: 0 };
  }
  return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
}

test('every hostile request, with any token, is answered or refused, within the limits, and honest ones continue', async () => {
  const description = (await (await fetch(`${app.server.url}/openapi.json`)).json()) as Parameters<
    typeof routesIn
  >[0];
  const generated = generatedRequests(routesIn(description));
  const all = [
    ...hostileRequests(large, 1, Date.now()),
    ...hostileChanges(large, 1),
    // All with every permission, and some as a viewer, who is refused much of it. `npm run hostile` sends more.
    ...generated.filter((_, index) => index % 4 === 0),
    ...generated.map((request) => ({ ...request, as: 'admin' as const })),
  ];
  expect(all.length).toBeGreaterThan(120);
  const wrong: string[] = [];
  for (const request of all) {
    const { status, bytes } = await send(request);
    // Readiness answers 503 if the disk is nearly full, and 501 means that this server lacks the part.
    const isFine = status < 500 || status === 501 || request.path.startsWith('/readyz');
    if (!isFine || bytes > 16_777_216) wrong.push(`${request.name}: ${status}, ${bytes} bytes`);
  }
  expect(wrong).toEqual([]);
  expect((await app.get('/v1/me', 'operator')).status).toBe(200);
}, 600_000);

test('a call that is too large for an answer is refused with the limit', async () => {
  const { status, body } = await app.get<{ detail: string }>('/v1/sessions/large/calls/huge', 'viewer');
  expect(status).toBe(413);
  expect(body.detail).toMatch(/has \d{7,} bytes in the ledger, and at most 4194304 are answered over HTTP/);
});

test('an honest caller gets its answers while all of them run at once', async () => {
  const flood = hostileRequests(large, 2, Date.now()).map((request) =>
    send(request).catch(() => ({ status: 0, bytes: 0 })),
  );
  for (let n = 0; n < 10; n++) expect((await app.get('/v1/calls?limit=50', 'operator')).status).toBe(200);
  const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
  expect([...statuses].filter((status) => status >= 500)).toEqual([]);
}, 300_000);
