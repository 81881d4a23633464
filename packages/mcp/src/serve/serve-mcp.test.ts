import { serve } from '@hono/node-server';
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientOptions } from '@modelcontextprotocol/client';
import { createRuntime, defineTool } from 'quittance';
import { serveMcp } from '@quittance/mcp';
import type { ServeMcpOptions } from '@quittance/mcp';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]).toString('base64');
const eras = ['legacy', 'modern'] as const;

/** A runtime with a few tools, served over HTTP. */
async function stage(options: ServeMcpOptions = {}, clientId = () => 'ada') {
  const ran: unknown[] = [];
  const runtime = createRuntime({
    tools: [
      defineTool({
        name: 'get_sum',
        description: 'Adds.',
        input: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        run: (args) => ({ sum: (args as { a: number }).a + 1 }),
      }),
      defineTool({
        name: 'get_picture',
        mode: 'read',
        run: (_, { attach }) => ({
          picture: attach({ mimeType: 'image/png', content: Buffer.from(png, 'base64') }),
        }),
      }),
      defineTool({
        name: 'get_nothing',
        run: () => {
          throw new Error('No funds.');
        },
      }),
      defineTool({ name: 'issue_read', run: () => 'open' }),
      defineTool({
        name: 'delete_all',
        run: (args) => {
          ran.push(args);
          return 'deleted';
        },
      }),
    ],
  });
  const serving = serveMcp(runtime, options);
  const fetch = (request: Request) =>
    serving.fetch(request, { authInfo: { clientId: clientId(), token: 't', scopes: [] } });
  const server = serve({ fetch, overrideGlobalObjects: false, port: 0, hostname: '127.0.0.1' });
  await new Promise<void>((resolve) => server.once('listening', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  onTestFinished(async () => {
    await serving.close();
    server.close();
    await runtime.close();
  });
  const connect = async (era: (typeof eras)[number], given: ClientOptions = {}) => {
    const mode = era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' };
    const client = new Client({ name: 'test', version: '1.0.0' }, { ...given, versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url));
    onTestFinished(() => client.close());
    return client;
  };
  const question = async () => {
    for (;;) {
      const { rows } = await runtime.confirmations.list({ status: 'pending' });
      if (rows[0] !== undefined) return rows[0];
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const approve = async () => {
    const { confirmationId, inputDigest } = await question();
    await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
  };
  return { runtime, serving, url, connect, ran, question, approve };
}

const textOf = (result: { content: readonly unknown[] }): string =>
  (result.content[0] as { text: string }).text;

describe.each(eras)('a client of the %s era', (era) => {
  test('lists the tools with schemas and annotations', async () => {
    const { connect } = await stage();
    const { tools } = await (await connect(era)).listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'get_sum',
      'get_picture',
      'get_nothing',
      'issue_read',
      'delete_all',
      'read_artifact',
      'check_call',
    ]);
    expect(tools[0]).toMatchObject({
      description: 'Adds.',
      inputSchema: { required: ['a'] },
      outputSchema: { required: ['sum'] },
      annotations: { readOnlyHint: true },
    });
    // A client may run a read-only tool unasked: a word anywhere in the name is not enough.
    expect(tools[3]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    expect(tools[4]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  test('gets results, files, failures and denials, and every call is on record', async () => {
    const { connect, runtime } = await stage();
    const client = await connect(era);
    expect(await client.callTool({ name: 'get_sum', arguments: { a: '2' } })).toMatchObject({
      structuredContent: { sum: 3 },
      content: [{ type: 'text', text: '{"sum":3}' }, { type: 'text' }],
    });
    const picture = await client.callTool({ name: 'get_picture', arguments: {} });
    expect(picture.content).toContainEqual({ type: 'image', data: png, mimeType: 'image/png' });
    const failed = await client.callTool({ name: 'get_nothing', arguments: {} });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toContain('No funds.');
    const denied = await client.callTool({ name: 'get_sum', arguments: { a: 'many' } });
    expect(denied.isError).toBe(true);
    expect(textOf(denied)).toContain('argument_validation_failed');
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    const calls = await runtime.calls.list({ sessionId: 'mcp:ada' });
    expect(calls.map(({ settled }) => settled?.outcome.type)).toEqual([
      'ToolExecutionResult',
      'ToolExecutionResult',
      'ToolFailure',
      'ToolDenied',
    ]);
  });

  test('follows the link to a large file, in its own session only', async () => {
    let clientId = 'ada';
    const { connect } = await stage({ mediaLimit: 4 }, () => clientId);
    const client = await connect(era);
    const { content } = await client.callTool({ name: 'get_picture', arguments: {} });
    const link = content.find((part) => part.type === 'resource_link');
    const uri = link?.uri ?? '';
    expect(await client.readResource({ uri })).toMatchObject({ contents: [{ blob: png }] });
    clientId = 'eve';
    const other = await connect(era);
    await expect(other.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
  });

  test('without elicitation learns of a held call later, by its id', async () => {
    const { connect, approve, ran } = await stage();
    const client = await connect(era);
    const held = await client.callTool({ name: 'delete_all', arguments: { x: 1 } });
    expect(held.isError).toBe(true);
    const { call_id: callId } = JSON.parse(textOf(held)) as { call_id: string };
    const check = () => client.callTool({ name: 'check_call', arguments: { call_id: callId } });
    expect(textOf(await check())).toContain('"status":"pending"');
    expect(ran).toEqual([]);
    await approve();
    let result = await check();
    while (result.isError === true) result = await check();
    expect(textOf(result)).toBe('deleted');
    expect(ran).toEqual([{ x: 1 }]);
  });

  test('cannot check the call of another client', async () => {
    let clientId = 'ada';
    const { connect } = await stage({}, () => clientId);
    const held = await (await connect(era)).callTool({ name: 'delete_all', arguments: {} });
    const { call_id: callId } = JSON.parse(textOf(held)) as { call_id: string };
    clientId = 'eve';
    const other = await connect(era);
    const result = await other.callTool({ name: 'check_call', arguments: { call_id: callId } });
    expect(textOf(result)).toContain('There is no call');
  });

  test('with elicitation shows the question and waits: accepting it does not approve', async () => {
    const { connect, approve, question, ran, runtime } = await stage({
      consoleUrl: 'https://console.example',
    });
    const client = await connect(era, { capabilities: { elicitation: { form: {} } } });
    const shown: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params.message);
      return { action: 'accept', content: { decision: 'approve' } };
    });
    const calling = client.callTool({ name: 'delete_all', arguments: { x: 1 } });
    const { confirmationId } = await question();
    // The client has answered once it has seen the question; the call still waits.
    while (shown.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(shown[0]).toContain(`https://console.example/confirmations/${confirmationId}`);
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
    expect(ran).toEqual([]);
    await approve();
    expect(textOf(await calling)).toBe('deleted');
    const [call] = await runtime.calls.list({ sessionId: 'mcp:ada' });
    expect(call?.confirmation).toMatchObject({ by: { name: 'Grace' } });
  });

  test('decides itself only if the host allows it, and the record names the person', async () => {
    const { connect, ran, runtime } = await stage({
      decidesInClient: (name, { authInfo }) =>
        name === 'delete_all' ? `${authInfo?.clientId} at the client` : undefined,
    });
    const client = await connect(era, { capabilities: { elicitation: { form: {} } } });
    const answers = [
      { action: 'accept' as const, content: { decision: 'approve' } },
      { action: 'decline' as const },
      { action: 'accept' as const, content: { decision: 'maybe' } },
    ];
    client.setRequestHandler('elicitation/create', async () => answers.shift() ?? { action: 'cancel' });
    expect(textOf(await client.callTool({ name: 'delete_all', arguments: { x: 1 } }))).toBe('deleted');
    for (const x of [2, 3]) {
      const denied = await client.callTool({ name: 'delete_all', arguments: { x } });
      expect(denied.isError).toBe(true);
    }
    expect(ran).toEqual([{ x: 1 }]);
    const [call] = await runtime.calls.list({ sessionId: 'mcp:ada' });
    expect(call?.confirmation).toMatchObject({ by: { name: 'ada at the client' } });
  });

  test('does not decide about input that the question shows only in part', async () => {
    const { connect, ran, question } = await stage({ decidesInClient: () => 'Ada' });
    const client = await connect(era, { capabilities: { elicitation: { form: {} } } });
    const shown: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params.message);
      return shown.length > 1 ? { action: 'cancel' } : { action: 'accept', content: { decision: 'approve' } };
    });
    const calling = client.callTool({ name: 'delete_all', arguments: { x: 'y'.repeat(3_000) } });
    const { status } = await question();
    while (shown.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(shown[0]).toContain('Accepting does not approve the call.');
    expect(status).toBe('pending');
    expect(ran).toEqual([]);
    calling.catch(() => undefined); // it ends with the connection
  });

  test('gets the recorded result if it repeats the id of a call', async () => {
    const { connect, approve, ran } = await stage();
    const client = await connect(era);
    const call = () =>
      client.callTool({
        name: 'delete_all',
        arguments: {},
        _meta: { 'claudecode/toolUseId': 'toolu_1' },
      });
    await call();
    await approve();
    for (let result = await call(); result.isError === true; result = await call());
    expect(textOf(await call())).toBe('deleted');
    expect(ran).toHaveLength(1);
  });
});

describe('a modern client', () => {
  const envelope = (capabilities: object) => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  });

  async function send(url: URL, method: string, params: object, name: string, capabilities: object) {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': name,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...params, _meta: envelope(capabilities) },
      }),
    });
    return (await response.json()) as { result?: Record<string, unknown>; error?: { code: number } };
  }
  const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

  test('a modern client with tasks gets a held call as a task, which only it can read', async () => {
    let clientId = 'ada';
    const { url, approve } = await stage({}, () => clientId);
    const created = await send(url, 'tools/call', { name: 'delete_all', arguments: {} }, 'delete_all', tasks);
    expect(created.result).toMatchObject({ resultType: 'task', status: 'working' });
    const taskId = String(created.result?.['taskId']);
    const get = () => send(url, 'tasks/get', { taskId }, taskId, tasks);
    expect((await get()).result).toMatchObject({ status: 'working' });
    clientId = 'eve';
    expect((await get()).error).toMatchObject({ code: -32_602 });
    clientId = 'ada';
    await approve();
    let task = await get();
    while (task.result?.['status'] === 'working') task = await get();
    expect(task.result).toMatchObject({ status: 'completed', result: { content: [{ text: 'deleted' }] } });
  });

  test('cannot answer with the state of another client, another call, or one it made up', async () => {
    let clientId = 'ada';
    const { url, ran, runtime } = await stage({ decidesInClient: () => 'someone' }, () => clientId);
    const call = (args: object, more: object = {}) =>
      send(url, 'tools/call', { name: 'delete_all', arguments: args, ...more }, 'delete_all', {
        elicitation: { form: {} },
      });
    const asked = await call({ x: 1 });
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const requestState = String(asked.result?.['requestState']);
    const inputResponses = { approval: { action: 'accept', content: { decision: 'approve' } } };
    clientId = 'eve';
    expect((await call({ x: 1 }, { requestState, inputResponses })).error?.code).toBe(-32_602);
    clientId = 'ada';
    expect((await call({ x: 2 }, { requestState, inputResponses })).error?.code).toBe(-32_602);
    expect((await call({ x: 1 }, { requestState: `${requestState}x`, inputResponses })).error?.code).toBe(
      -32_602,
    );
    // Without a state it is another call, and its answer is about nothing.
    expect((await call({ x: 1 }, { inputResponses })).result).toMatchObject({ resultType: 'input_required' });
    expect(ran).toEqual([]);
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(2);
    expect((await call({ x: 1 }, { requestState, inputResponses })).result).toMatchObject({
      content: [{ text: 'deleted' }],
    });
    expect(ran).toEqual([{ x: 1 }]);
  });
});

test('another web page cannot reach a local server', async () => {
  const { url } = await stage();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'https://evil.example' },
    body: '{}',
  });
  expect(response.status).toBe(403);
});

test('no answer may be stored by a cache', async () => {
  const { url } = await stage();
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toContain('no-store');
  await response.body?.cancel();
});

test('a client over another transport is served too', async () => {
  const { serving } = await stage();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  serving.stdio(theirs);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(ours);
  expect(textOf(await client.callTool({ name: 'get_sum', arguments: { a: 1 } }))).toBe('{"sum":2}');
  await client.close();
});

test('options that do not exist are refused', async () => {
  const runtime = createRuntime({ tools: [] });
  expect(() => serveMcp(runtime, { hosts: [] } as never)).toThrow('hosts');
  expect(() => serveMcp({} as never)).toThrow('createRuntime');
  await runtime.close();
});
