/** A server that answers calls with tasks cannot reach a client around output rules, redaction and the ledger. */
import { describe, expect, it } from 'vitest';
import { contracts } from '../../../packages/quittance/src/contracts/contracts.ts';
import type { Caller } from '../../../packages/mcp/src/gateway/client-request.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import type { RawAnswer, RawMessage, RawServer } from './raw-server.ts';
import { openLegacy, postModern, startRawServer, WithNotices } from './raw-server.ts';
import type { GatewaySetting, StartedGateway } from './start-gateway.ts';
import { ada, callsIn, startGateway } from './start-gateway.ts';

const withTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const secret = 'kwzvqjhrmtyp';
const serversId = 'ghwkqztask';
const viewer: Caller = { ...ada, id: 'viewer', readsOnly: true };
const inputSchema = { type: 'object', properties: {} };
const text = (said: string): object => ({ content: [{ type: 'text', text: said }] });

const redaction = contracts({
  name: 'redaction',
  rules: [
    {
      id: 'hide-mark',
      after: (_, output) =>
        JSON.stringify(output).includes(secret)
          ? { action: 'redact', message: 'Hidden.', output: 'hidden' }
          : undefined,
    },
  ],
});

type Tasks = {
  readonly server: RawServer;
  readonly started: StartedGateway;
  /** What the server says about its task from now on. */
  readonly say: (task: object) => void;
  readonly callTool: (name?: string) => Promise<string>;
  readonly get: (taskId: string) => Promise<RawAnswer>;
};

/** A modern server whose tools answer with a task, which ends after this many answers. */
async function start(setting: GatewaySetting = {}, created: object = {}, answers = 1): Promise<Tasks> {
  let task: object = { status: 'working' };
  let left = answers;
  const facts = { resultType: 'complete', taskId: serversId, ttlMs: 60_000, pollIntervalMs: 50 };
  const server = await startRawServer(({ method, params }: RawMessage) => {
    switch (method) {
      case 'tools/list':
        return {
          resultType: 'complete',
          tools: [
            { name: 'get_note', inputSchema },
            { name: 'create_note', inputSchema },
          ],
        };
      case 'tools/call':
        return new WithNotices(
          [
            {
              method: 'notifications/tasks',
              params: { taskId: serversId, status: 'completed', result: text(secret) },
            },
          ],
          { ...facts, status: 'working', ...created, resultType: 'task' },
        );
      case 'tasks/get':
        return { ...facts, ...task };
      case 'tasks/update':
        if ((left -= 1) === 0)
          task = {
            status: 'completed',
            result: text(`answered ${JSON.stringify(params['inputResponses'])}`),
          };
        return { resultType: 'complete' };
      case 'tasks/cancel':
        task = { status: 'cancelled' };
        return { resultType: 'complete' };
      default:
        return undefined;
    }
  });
  const started = await startGateway([server.entry], { contracts: redaction, observe: true, ...setting });
  return {
    server,
    started,
    say: (next) => {
      task = next;
    },
    callTool: async (name = 'create_note') => {
      const { result } = await postModern(started.url, 'tools/call', { name, arguments: {} }, withTasks);
      expect(result).toMatchObject({ resultType: 'task', status: 'working' });
      return String(result?.['taskId']);
    },
    get: (taskId) => postModern(started.url, 'tasks/get', { taskId }, withTasks),
  };
}

const statusOf = async (answer: Promise<RawAnswer>): Promise<unknown> => (await answer).result?.['status'];

describe('a task of a server', () => {
  it('ends with the settled result of its call, after output rules', async () => {
    const { started, say, callTool, get, server } = await start();
    const taskId = await callTool();
    say({ status: 'completed', result: text(secret) });
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    const end = JSON.stringify(await get(taskId));
    expect(end).toContain('hidden');
    expect(end).not.toContain(secret);
    expect(await get(taskId)).toEqual(await get(taskId));
    expect(await callsIn(started.ledger)).toEqual([['create_note', 'settled']]);
    // The gateway asked the server for its own record only.
    expect(server.received.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  it('has an id of the gateway, and the id of the server is unknown to clients', async () => {
    const { callTool, get, started, say } = await start();
    const taskId = await callTool();
    expect(taskId).not.toContain(serversId);
    expect(Buffer.from(taskId.split('.')[1] ?? '', 'base64url').toString()).not.toContain(serversId);
    say({ status: 'completed', result: text(secret) });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await postModern(started.url, method, { taskId: serversId }, withTasks)).toMatchObject({
        error: { code: -32_602 },
      });
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    expect(JSON.stringify(await get(taskId))).not.toContain(serversId);
  });

  it('belongs to its caller: a viewer and another person cannot read or cancel it', async () => {
    const { callTool, get, started, say, server } = await start();
    const taskId = await callTool();
    const others = [viewer, { ...ada, id: 'eve' }, { ...ada, readsOnly: true }];
    for (const caller of others) {
      const { url } = await started.gateway.listen({ port: 0, access: { type: 'open', caller } });
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
        for (const id of [taskId, serversId])
          expect(await postModern(url, method, { taskId: id }, withTasks)).toMatchObject({
            error: { code: -32_602 },
          });
    }
    expect(server.received.map(({ method }) => method)).not.toContain('tasks/cancel');
    say({ status: 'completed', result: text('made') });
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
  });

  it('is cancelled by its caller at the runtime, and at the server', async () => {
    const { callTool, get, started, server } = await start();
    const taskId = await callTool('get_note');
    expect(await postModern(started.url, 'tasks/cancel', { taskId }, withTasks)).toHaveProperty('result');
    await expect.poll(() => callsIn(started.ledger)).toEqual([['get_note', 'settled', 'tool.cancelled']]);
    await expect.poll(() => server.received.map(({ method }) => method)).toContain('tasks/cancel');
    const cancelled = server.received.find(({ method }) => method === 'tasks/cancel');
    expect(cancelled?.params['taskId']).toBe(serversId);
    expect(await statusOf(get(taskId))).toBe('cancelled');
  });

  it('asks its client through the gateway, once for each question', async () => {
    const { callTool, get, started, say, server } = await start();
    const capabilities = { ...withTasks, elicitation: {} };
    const asks = { who: { method: 'elicitation/create', params: { mode: 'form', message: 'Who?' } } };
    const { result } = await postModern(
      started.url,
      'tools/call',
      { name: 'create_note', arguments: {} },
      capabilities,
    );
    const taskId = String(result?.['taskId']);
    say({ status: 'input_required', inputRequests: asks });
    await expect.poll(() => statusOf(get(taskId))).toBe('input_required');
    expect((await get(taskId)).result?.['inputRequests']).toMatchObject({
      who: { method: 'elicitation/create' },
    });
    const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };
    await postModern(started.url, 'tasks/update', { taskId, inputResponses }, capabilities);
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    expect(JSON.stringify(await get(taskId))).toContain('Ada');
    expect(server.received.filter(({ method }) => method === 'tasks/update')).toHaveLength(1);
    expect(callTool).toBeTypeOf('function');
  });

  it('may ask more while its client answers, in any order, and gets each answer once', async () => {
    const { get, started, say, server } = await start({}, {}, 2);
    const capabilities = { ...withTasks, elicitation: {} };
    const ask = (message: string): object => ({
      method: 'elicitation/create',
      params: { mode: 'form', message },
    });
    const call = { name: 'create_note', arguments: {} };
    const { result } = await postModern(started.url, 'tools/call', call, capabilities);
    const taskId = String(result?.['taskId']);
    const keysOf = async (): Promise<readonly string[]> =>
      Object.keys(((await get(taskId)).result?.['inputRequests'] ?? {}) as object).toSorted();
    const answer = (key: string): Promise<RawAnswer> => {
      const inputResponses = { [key]: { action: 'accept', content: { name: key } } };
      return postModern(started.url, 'tasks/update', { taskId, inputResponses }, capabilities);
    };
    const updates = (): readonly unknown[] =>
      server.received
        .filter(({ method }) => method === 'tasks/update')
        .flatMap(({ params }) => Object.keys(params['inputResponses'] as object));
    // The second question comes while the first one waits.
    say({ status: 'input_required', inputRequests: { one: ask('One?') } });
    await expect.poll(keysOf).toEqual(['one']);
    say({ status: 'input_required', inputRequests: { one: ask('One?'), two: ask('Two?') } });
    await expect.poll(keysOf).toEqual(['one', 'two']);
    say({ status: 'working' });
    await answer('two');
    expect(await keysOf()).toEqual(['one']);
    await expect.poll(updates).toEqual(['two']);
    await answer('one');
    await answer('one');
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    expect(updates()).toEqual(['two', 'one']);
  });

  it('a task of a server that its server ends while a question waits ends its call, and the question is withdrawn', async () => {
    const { get, started, say } = await start();
    const capabilities = { ...withTasks, elicitation: {} };
    const asks = { who: { method: 'elicitation/create', params: { mode: 'form', message: 'Who?' } } };
    const call = { name: 'create_note', arguments: {} };
    const { result } = await postModern(started.url, 'tools/call', call, capabilities);
    const taskId = String(result?.['taskId']);
    say({ status: 'input_required', inputRequests: asks });
    await expect.poll(() => statusOf(get(taskId))).toBe('input_required');
    say({ status: 'completed', result: text('made') });
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    expect(JSON.stringify(await get(taskId))).not.toContain('inputRequests');
  });

  it('a task of a server that asks without end fails, and so does its call', async () => {
    const { get, started, say } = await start();
    const capabilities = { ...withTasks, elicitation: {} };
    const { result } = await postModern(
      started.url,
      'tools/call',
      { name: 'create_note', arguments: {} },
      capabilities,
    );
    const taskId = String(result?.['taskId']);
    const asks = Array.from({ length: 60 }, (_, index) => [
      `q${index}`,
      { method: 'elicitation/create', params: { mode: 'form', message: 'Who?' } },
    ]);
    say({ status: 'input_required', inputRequests: Object.fromEntries(asks) });
    await expect
      .poll(() => callsIn(started.ledger))
      .toEqual([['create_note', 'settled', 'tool.indeterminate']]);
    expect(await statusOf(get(taskId))).toBe('completed');
  });

  it('is answered from the ledger after a restart of the gateway', async () => {
    const ledger = createMemoryLedger();
    const { callTool, get, say, server } = await start({ ledger });
    const taskId = await callTool();
    say({ status: 'completed', result: text(secret) });
    await expect.poll(() => statusOf(get(taskId))).toBe('completed');
    const before = await get(taskId);
    const { url } = await startGateway([server.entry], { ledger, observe: true });
    expect(await postModern(url, 'tasks/get', { taskId }, withTasks)).toEqual(before);
  });

  it.each([
    ['at once', { result: text(secret), status: 'completed' }],
    ['in a nested task', { task: { taskId: serversId, result: text(secret) } }],
    ['in its metadata', { _meta: { note: secret } }],
    ['in its message', { statusMessage: secret }],
    [
      'in a question',
      { status: 'input_required', inputRequests: { a: { method: 'x', params: { secret } } } },
    ],
  ])('cannot smuggle a result past output rules %s', async (_, created) => {
    const { started } = await start({}, created);
    const { result } = await postModern(
      started.url,
      'tools/call',
      { name: 'create_note', arguments: {} },
      withTasks,
    );
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  it('reaches no client as a notice', async () => {
    const { started } = await start();
    const response = await fetch(started.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'create_note',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'create_note',
          arguments: {},
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': withTasks,
            progressToken: 1,
          },
        },
      }),
    });
    const streamed = await response.text();
    expect(streamed).not.toContain('notifications/tasks');
    expect(streamed).not.toContain(secret);
  });

  it.each([
    ['a modern client without tasks', {}],
    ['a legacy client', undefined],
  ])('is awaited for %s', async (_, capabilities) => {
    const { started, say } = await start();
    say({ status: 'completed', result: text(secret) });
    const call = { name: 'create_note', arguments: {} };
    const answer =
      capabilities === undefined
        ? await (await openLegacy(started.url)).request('tools/call', call)
        : await postModern(started.url, 'tools/call', call, capabilities);
    expect(answer.result?.['content']).toEqual([{ type: 'text', text: expect.stringContaining('hidden') }]);
    expect(JSON.stringify(answer)).not.toContain(secret);
    expect(JSON.stringify(answer)).not.toContain(serversId);
  });

  it.each(['prompts/get', 'resources/read', 'completion/complete'] as const)(
    'is refused as the answer to %s',
    async (method) => {
      const server = await startRawServer((asked) =>
        asked.method === 'tools/list'
          ? { tools: [], resultType: 'complete' }
          : { resultType: 'task', taskId: serversId, status: 'working', result: text(secret) },
      );
      const { url } = await startGateway([server.entry]);
      const params = {
        name: 'x',
        uri: 'x://y',
        ref: { type: 'ref/prompt', name: 'x' },
        argument: { name: 'a', value: '' },
      };
      for (const answer of [
        await postModern(url, method, params, withTasks),
        await (await openLegacy(url)).request(method, params),
      ]) {
        expect(answer).toHaveProperty('error');
        expect(JSON.stringify(answer)).not.toContain(serversId);
      }
    },
  );
});
