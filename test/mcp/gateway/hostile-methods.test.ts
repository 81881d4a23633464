/** Only the methods and notices of the protocol pass the gateway, and a viewer's client only reads. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../../packages/mcp/src/gateway/client-request.ts';
import type { RawServer } from './raw-server.ts';
import { openLegacy, postModern, startRawServer, WithNotices } from './raw-server.ts';
import type { StartedGateway } from './start-gateway.ts';
import { ada, startGateway } from './start-gateway.ts';

const viewer: Caller = { ...ada, id: 'viewer', readsOnly: true };
const inputSchema = { type: 'object', properties: {} };

/** Requests that no client may make. Some look like one that it may. */
const unknown = [
  'admin/wipe',
  'Tools/Call',
  'tools/call ',
  'tools/Call',
  'TOOLS/LIST',
  'tools/call\u200b',
  '__proto__',
  'constructor',
  'toString',
  'tasks/list',
  'tasks/result',
  'tasks/delete',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'notifications/initialized',
  'notifications/roots/list_changed',
  'notifications/cancelled',
  'resources/write',
  'resources/delete',
];

/** Notices that no server may get from a client. */
const notices = [
  'admin/wipe',
  'tools/call',
  'notifications/admin/wipe',
  'notifications/message',
  'notifications/tasks/status',
  'notifications/tools/list_changed',
  'Notifications/Roots/List_changed',
  '__proto__',
];

let server: RawServer;
let started: StartedGateway;
let logged: string[];

async function start(era: 'legacy' | 'modern'): Promise<void> {
  server = await startRawServer(
    ({ method }) =>
      method === 'tools/list'
        ? {
            tools: [
              { name: 'get_note', inputSchema },
              { name: 'fetch_note', inputSchema },
              { name: 'create_note', inputSchema },
            ],
          }
        : { content: [], messages: [], contents: [], completion: { values: [] } },
    {
      era,
      facts: {
        capabilities: {
          tools: {},
          prompts: {},
          resources: { subscribe: true },
          logging: {},
          completions: {},
        },
      },
    },
  );
  logged = [];
  started = await startGateway([server.entry], { observe: true, log: (_, line) => logged.push(line) });
}

const reached = (): readonly string[] => server.received.map(({ method }) => method);

describe.each(['legacy', 'modern'] as const)('a client of a %s server', (era) => {
  beforeEach(() => start(era));

  it('cannot send an unknown request, whatever it looks like', async () => {
    const client = await openLegacy(started.url);
    const before = reached();
    for (const method of unknown) {
      expect((await client.request(method, { name: 'create_note' })).error).toMatchObject({
        code: -32_601,
      });
    }
    // A header has only such characters.
    for (const method of unknown.filter((each) => /^[ -~]+$/.test(each)))
      expect(await postModern(started.url, method)).toHaveProperty('error');
    expect(reached()).toEqual(before);
    // Once over the session, and once over HTTP, where the answer is a status.
    expect(logged.filter((line) => line.includes('ada sent "admin/wipe"'))).toHaveLength(2);
  });

  it('cannot send a call as a notice, or any other notice that is not about roots', async () => {
    const client = await openLegacy(started.url);
    const before = reached();
    for (const method of notices)
      await client.send({ jsonrpc: '2.0', method, params: { name: 'create_note', arguments: {} } });
    await client.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    // The notices before this one were sent on the same connection.
    await client.request('prompts/get', { name: 'a' });
    const after = reached()
      .slice(before.length)
      .filter((method) => method !== 'tools/list');
    expect(after.filter((method) => method !== 'notifications/roots/list_changed')).toEqual(['prompts/get']);
    expect(logged.join('\n')).toContain('ada sent "notifications/admin/wipe"');
  });

  it('cannot hide a request in a batch', async () => {
    const client = await openLegacy(started.url);
    const before = reached();
    await client.send([
      { jsonrpc: '2.0', id: 901, method: 'admin/wipe' },
      { jsonrpc: '2.0', method: 'notifications/admin/wipe' },
      { jsonrpc: '2.0', method: 'tools/call', params: { name: 'create_note', arguments: {} } },
    ]);
    await client.send([{ jsonrpc: '2.0', id: 902, method: ['tools/list'], params: {} }]);
    expect(reached()).toEqual(before);
  });

  it('cannot do more than read as a viewer', async () => {
    const { url } = await started.gateway.listen({ port: 0, access: { type: 'open', caller: viewer } });
    const client = await openLegacy(url);
    const before = reached();
    for (const [method, params] of [
      ['logging/setLevel', { level: 'debug' }],
      ['resources/subscribe', { uri: 'test://a' }],
      ['resources/unsubscribe', { uri: 'test://a' }],
      ['tools/call', { name: 'create_note', arguments: {} }],
      // Its name only suggests that it reads.
      ['tools/call', { name: 'fetch_note', arguments: {} }],
      ['admin/wipe', {}],
    ] as const) {
      expect(await client.request(method, params)).toHaveProperty('error');
      expect(await postModern(url, method, params)).toHaveProperty('error');
    }
    await client.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    for (const uri of ['test://a', 'test://b']) await postListening(url, uri);
    expect(reached()).toEqual(before);
    const namesAt = async (at: string): Promise<readonly string[]> => {
      const { result } = await postModern(at, 'tools/list');
      return ((result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name);
    };
    expect(await namesAt(started.url)).toEqual(
      expect.arrayContaining(['get_note', 'fetch_note', 'create_note']),
    );
    expect(await namesAt(url)).toEqual(['get_note', 'check_call', 'read_artifact']);
    const seenBy = async (at: string): Promise<string> =>
      JSON.stringify((await postModern(at, 'server/discover')).result?.['capabilities']);
    // The gateway shows a legacy server's capabilities only to sessions.
    expect(/logging|subscribe/.test(await seenBy(started.url))).toBe(era === 'modern');
    expect(await seenBy(url)).not.toMatch(/logging|subscribe/);
    expect(logged.join('\n')).toContain('viewer called the tool "create_note"');
    for (const [method, params] of [
      ['tools/list', {}],
      ['prompts/list', {}],
      ['resources/list', {}],
      ['prompts/get', { name: 'a' }],
      ['resources/read', { uri: 'test://a' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'a', value: '' } }],
      ['tools/call', { name: 'get_note', arguments: {} }],
    ] as const)
      expect(await client.request(method, params)).not.toHaveProperty('error');
  });
});

describe('a server', () => {
  it('cannot send a notice that the gateway does not know, or about its own tasks and questions', async () => {
    const sent = [
      { method: 'notifications/tasks', params: { taskId: 'a' } },
      { method: 'notifications/tasks/status', params: { taskId: 'a' } },
      { method: 'notifications/cancelled', params: { requestId: 1 } },
      { method: 'notifications/initialized' },
      { method: 'notifications/admin' },
      { method: 'Notifications/Message', params: { level: 'info', data: 'x' } },
      { method: '__proto__' },
    ];
    server = await startRawServer(
      ({ method }) =>
        method === 'tools/list'
          ? { tools: [{ name: 'get_note', inputSchema }] }
          : new WithNotices(sent, { content: [] }),
      { era: 'legacy' },
    );
    const { url, gateway } = await startGateway([server.entry], { observe: true });
    const response = await fetchSession(url);
    expect(await response('tools/call', { name: 'get_note', arguments: {} })).not.toMatch(
      /notifications\/(?!message)|__proto__/i,
    );
    expect(gateway.status().servers[0]?.oddities).toBeGreaterThanOrEqual(sent.length);
  });

  it.each([
    'admin/wipe',
    'tools/call',
    'tasks/get',
    'Elicitation/Create',
    '__proto__',
    'notifications/cancelled',
  ])('cannot make the request %s of a client, or ask for it by a result', async (method) => {
    const asks = { resultType: 'input_required', inputRequests: { a: { method, params: {} } } };
    server = await startRawServer((asked) =>
      asked.method === 'tools/list'
        ? { tools: [{ name: 'get_note', inputSchema }], resultType: 'complete' }
        : asks,
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const all = { sampling: {}, elicitation: {}, roots: {} };
    const legacy = await openLegacy(url, all);
    for (const [request, params] of [
      ['tools/call', { name: 'get_note', arguments: {} }],
      ['prompts/get', { name: 'a' }],
      ['resources/read', { uri: 'test://a' }],
    ] as const) {
      for (const answer of [
        await postModern(url, request, params, all),
        await legacy.request(request, params),
      ])
        expect(answer.error ?? answer.result?.['isError']).toBeTruthy();
    }
  });
});

/** Listens for changes of a resource. The stream stays open until the gateway has acknowledged it. */
async function postListening(url: string, uri: string): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { resourceSubscriptions: [uri] },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  await response.body?.getReader().read();
  leaving.abort();
}

/** The whole stream of an answer, as text. */
async function fetchSession(url: string): Promise<(method: string, params: object) => Promise<string>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = async (body: object): Promise<string> => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    headers['mcp-session-id'] ??= response.headers.get('mcp-session-id') ?? '';
    return response.text();
  };
  await send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  return (method, params) => send({ jsonrpc: '2.0', id: 2, method, params });
}
