import type { ClientOptions } from '@modelcontextprotocol/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPeopleRuntime } from '../../../packages/cli/src/people-runtime.ts';
import { TokenFile } from '../../../packages/server/src/http/token-file.ts';
import { createMcpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { eventually } from '../../eventually.ts';
import { startEffects } from './start-server.ts';

type Started = {
  readonly url: string;
  readonly effects: readonly string[];
  readonly tokens: TokenFile;
  /** Approves the one held call. */
  readonly approve: () => Promise<void>;
};

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

async function start({ observe = true, asks = false } = {}): Promise<Started> {
  const { entry, effects } = await startEffects(asks ? { era: 'legacy', asks } : {});
  const ledger = createMemoryLedger();
  const tokens = new TokenFile(undefined, () => ledger.now());
  const gateway = createMcpGateway({ config: { servers: [entry], observe }, ledger, version: '1' });
  onTestFinished(() => gateway.close());
  await gateway.start();
  const http = await gateway.listen({ port: 0, access: { type: 'tokens', tokens } });
  onTestFinished(() => http.close());
  const approve = async (): Promise<void> => {
    const { confirmations } = createPeopleRuntime(ledger);
    const [open] = (await confirmations.list({ status: 'pending' })).rows;
    const { confirmationId = '', inputDigest = '' } = open ?? {};
    await confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
  };
  return { url: http.url, effects, tokens, approve };
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

const post = (url: string, headers: Record<string, string>, body: unknown = initialize): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

async function connect(
  url: string,
  token: string,
  mode: 'legacy' | 'auto',
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client({ name: 'probe', version: '1' }, { versionNegotiation: { mode }, ...options });
  onTestFinished(() => client.close());
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

describe('the HTTP endpoint', () => {
  it('asks for a token, and says where its metadata is', async () => {
    const { url } = await start();
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic x' }] as const) {
      const response = await post(url, { ...headers });
      expect(response.status).toBe(401);
      const metadata = /resource_metadata="([^"]+)"/.exec(
        response.headers.get('www-authenticate') ?? '',
      )?.[1];
      expect(await (await fetch(metadata ?? '')).json()).toMatchObject({ resource: url });
    }
    expect((await fetch(new URL('/status', url))).status).toBe(401);
  });

  it('refuses other host names and pages of other origins before it looks at the token', async () => {
    const { url, tokens } = await start();
    const { token } = tokens.create({ name: 'agent', role: 'operator' });
    const authorization = `Bearer ${token}`;
    const { host, port } = new URL(url);
    const foreign = [
      'https://evil.example',
      `http://localhost:${port}`, // another name of this machine
      'http://127.0.0.1',
      'http://127.0.0.1:1',
      `http://[::1]:${port}`,
      `http://${host}.evil.example`,
      `http://evil.example@${host}`,
      `file://${host}`,
      'null',
      '',
    ];
    for (const origin of foreign)
      expect([origin, (await post(url, { authorization, origin })).status]).toEqual([origin, 403]);
    for (const site of ['cross-site', 'same-site'])
      expect((await post(url, { authorization, 'sec-fetch-site': site })).status).toBe(403);
    const own = await post(url, { authorization, origin: `http://${host}` });
    expect(own.status).not.toBe(403);
    expect(own.headers.get('cache-control')).toMatch(/no-(?:store|cache)/);
    // A name that an attacker points at this address. Fetch does not let a test set Host.
    const { request } = await import('node:http');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(
        url,
        { method: 'POST', headers: { host: 'evil.example', authorization } },
        (got) => {
          got.resume();
          resolve(got.statusCode);
        },
      );
      sent.on('error', reject);
      sent.end('{}');
    });
    expect(status).toBe(403);
  });

  it.each(['legacy', 'auto'] as const)('shows a %s viewer only tools that read', async (mode) => {
    const { url, effects, tokens } = await start();
    const viewer = tokens.create({ name: 'reader', role: 'viewer' });
    const client = await connect(url, viewer.token, mode);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'get_meta',
      'get_long_text',
      'check_call',
      'read_artifact',
    ]);
    await expect(client.callTool({ name: 'create_note', arguments: { text: 'a' } })).rejects.toThrow(
      'Unknown tool',
    );
    expect(effects).toEqual([]);
  });

  it('never passes a token on, and ends when the token is revoked', async () => {
    const { url, tokens } = await start();
    const { token } = tokens.create({ name: 'agent', role: 'operator' });
    const client = await connect(url, token, 'auto');
    const result = await client.callTool({ name: 'get_meta', arguments: {} });
    expect(JSON.stringify(result)).not.toContain(token);
    tokens.revoke('agent');
    await expect(client.callTool({ name: 'get_meta', arguments: {} })).rejects.toThrow(/401|nauthorized/);
  });

  it('does not let another caller into a session', async () => {
    const { url, tokens } = await start();
    const [one, two] = [
      tokens.create({ name: 'one', role: 'operator' }),
      tokens.create({ name: 'two', role: 'operator' }),
    ];
    const opened = await post(url, { authorization: `Bearer ${one.token}` });
    const session = opened.headers.get('mcp-session-id') ?? '';
    expect(session).not.toBe('');
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    expect((await post(url, { ...headers, authorization: `Bearer ${two.token}` }, list)).status).toBe(404);
    expect((await post(url, { ...headers, authorization: `Bearer ${one.token}` }, list)).status).toBe(200);
  });

  it('does not let another caller go on with a question', async () => {
    const { url, effects, tokens } = await start({ observe: false, asks: true });
    const [one, two] = await Promise.all(
      ['one', 'two'].map((name) =>
        connect(url, tokens.create({ name, role: 'operator' }).token, 'auto', {
          capabilities: { elicitation: { form: {} } },
          inputRequired: { autoFulfill: false },
        }),
      ),
    );
    type Asked = { readonly resultType?: string; readonly requestState?: string };
    const held = async (client: Client | undefined, more: object): Promise<Asked> =>
      (await client?.callTool({ name: 'zorp', arguments: { n: 1 }, ...more } as never, {
        allowInputRequired: true,
      })) as never;
    const prompt = async (client: Client | undefined, more: object): Promise<Asked> =>
      (await client?.getPrompt(
        { name: 'greet_by_name', ...more } as never,
        {
          allowInputRequired: true,
        } as never,
      )) as never;
    for (const [ask, inputResponses] of [
      [held, { approval: { action: 'accept' } }],
      [prompt, { who: { action: 'accept', content: { name: 'Mallory' } } }],
    ] as const) {
      const { resultType, requestState = '' } = await ask(one, {});
      expect(resultType).toBe('input_required');
      await expect(ask(two, { requestState, inputResponses })).rejects.toThrow(
        'Invalid or expired requestState',
      );
    }
    expect(effects).toEqual([]);
  });

  it('[secrets-stay-out] tells a caller of no held call of another caller, and gives no result of it', async () => {
    const { url, tokens, approve } = await start({ observe: false });
    const open = (name: string): Promise<Client> =>
      connect(url, tokens.create({ name, role: 'operator' }).token, 'auto');
    const [owner, other] = [await open('one'), await open('two')];
    const held = await owner.callTool({ name: 'zorp', arguments: { n: 1 } });
    const { call_id } = JSON.parse(textOf(held)) as { call_id: string };
    const look = async (client: Client): Promise<string> =>
      textOf(await client.callTool({ name: 'check_call', arguments: { call_id } }));
    expect(await look(owner)).toContain('pending');
    expect(await look(other)).toContain('There is no call with this call_id.');
    await approve();
    await eventually(async () => expect(await look(owner)).toBe('zorped 1'));
    expect(await look(other)).toContain('There is no call with this call_id.');
  });

  it('refuses bodies that are too long, too deep or not JSON', async () => {
    const { url, tokens } = await start();
    const { token } = tokens.create({ name: 'agent', role: 'operator' });
    const authorization = `Bearer ${token}`;
    for (const body of ['{', `${'['.repeat(20_000)}${']'.repeat(20_000)}`]) {
      const refused = await post(url, { authorization }, body);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: { code: -32_700 } });
    }
    expect((await post(url, { authorization }, `"${'x'.repeat(5_000_000)}"`)).status).toBe(413);
  });
});
