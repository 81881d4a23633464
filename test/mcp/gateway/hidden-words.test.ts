/** Whatever a server says through the gateway, secrets in it are hidden as in results of tools. */
import { describe, expect, it } from 'vitest';
import type { RawMessage } from './raw-server.ts';
import { startRawServer, WithError, WithNotices } from './raw-server.ts';
import { startGateway } from './start-gateway.ts';

// In two parts, so that no scanner takes it for a token.
const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`;
const said = `the key is ${secret}`;
const inputSchema = { type: 'object', properties: { id: { type: 'string', description: said } } };
const uri = 'notes://a';

const log = (data: unknown): object => ({
  method: 'notifications/message',
  params: { level: 'info', logger: said, data },
});

/** Every place of an answer in which a server can put words. */
function answer({ method, params }: RawMessage): unknown {
  const { progressToken } = (params['_meta'] ?? {}) as { progressToken?: number };
  const progress = {
    method: 'notifications/progress',
    params: { progressToken, progress: 1, message: said, _meta: { 'x/said': said } },
  };
  const notices = [progress, log(said), log({ deep: [{ text: said }] })];
  switch (method) {
    case 'tools/list':
      return { tools: [{ name: 'get_note', title: said, description: said, inputSchema }] };
    case 'tools/call':
      return new WithNotices(notices, { content: [{ type: 'text', text: said }], _meta: { 'x/a': said } });
    case 'prompts/list':
      return {
        prompts: [
          { name: 'a', title: said, description: said, arguments: [{ name: 'b', description: said }] },
        ],
      };
    case 'prompts/get':
      return new WithNotices(notices, {
        description: said,
        messages: [
          { role: 'user', content: { type: 'text', text: said } },
          { role: 'user', content: { type: 'resource', resource: { uri, text: said } } },
        ],
        _meta: { 'x/a': { deep: said } },
      });
    case 'resources/list':
      return { resources: [{ uri, name: 'a', title: said, description: said }] };
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'notes://{id}', name: 'a', description: said }] };
    case 'resources/read':
      return new WithNotices(notices, {
        contents: [{ uri, mimeType: 'text/plain', text: `# .env\n${said}` }],
      });
    case 'completion/complete':
      return { completion: { values: [said, secret], total: 2, hasMore: false } };
    case 'logging/setLevel':
      return {};
    default:
      return undefined;
  }
}

const requests: readonly (readonly [string, object])[] = [
  ['tools/list', {}],
  ['tools/call', { name: 'get_note', arguments: {} }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'a' }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'b', value: '' } }],
];

type Send = ((method: string, params: object) => Promise<string>) & { readonly opened: string };

/** Whole answers, with the notices before them. `opened`: what the gateway says of itself first. */
async function openClient(url: string, era: 'legacy' | 'modern'): Promise<Send> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': era === 'legacy' ? '2025-11-25' : '2026-07-28',
  };
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/logLevel': 'debug',
  };
  let nextId = 0;
  const send = async (method: string, params: object): Promise<string> => {
    const { name, uri: place } = params as { name?: string; uri?: string };
    const named = name ?? place;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        ...(era === 'modern' && { 'mcp-method': method, ...(named !== undefined && { 'mcp-name': named }) }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: (nextId += 1),
        method,
        params: { ...params, _meta: { progressToken: `p${nextId}`, ...(era === 'modern' && envelope) } },
      }),
    });
    const session = response.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    return response.text();
  };
  if (era === 'legacy') {
    const clientInfo = { name: 'raw', version: '1' };
    const opened = await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    await send('logging/setLevel', { level: 'debug' });
    return Object.assign(send, { opened });
  }
  return Object.assign(send, { opened: await send('server/discover', {}) });
}

describe.each(['legacy', 'modern'] as const)('[secrets-stay-out] a %s server', (era) => {
  const facts = {
    instructions: said,
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {}, completions: {} },
  };

  it.each(['legacy', 'modern'] as const)(
    'tells a %s client no secret, in whatever it sends',
    async (client) => {
      const server = await startRawServer(answer, { era, facts });
      const logged: string[] = [];
      const { url } = await startGateway([server.entry], {
        observe: true,
        log: (_, line) => logged.push(line),
      });
      const send = await openClient(url, client);
      // The gateway may not know what a server says about itself in the other version.
      expect(client !== era || send.opened.includes('the key is ')).toBe(true);
      expect(send.opened).not.toContain(secret);
      for (const [method, params] of requests) {
        const text = await send(method, params);
        expect(text).toContain('the key is ');
        expect(text).not.toContain(secret);
        const tells = ['tools/call', 'prompts/get', 'resources/read'].includes(method);
        expect(text.includes('raw: the key is ') || !tells).toBe(true);
      }
      expect(logged.join('\n')).not.toContain(secret);
    },
  );

  it('tells no secret in an error either', async () => {
    const error = { code: -32_000, message: said, data: { why: [said] } };
    const server = await startRawServer(
      (message) => (message.method.endsWith('/list') ? answer(message) : new WithError(error)),
      { era, facts },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const send = await openClient(url, 'modern');
    for (const [method, params] of requests.filter(([each]) => !each.endsWith('/list'))) {
      const text = await send(method, params);
      expect(text).toContain('the key is ');
      expect(text).not.toContain(secret);
    }
  });

  it('is asked for files, pages and questions under the names that it gave', async () => {
    const cursor = `${secret}-page-2`;
    const file = Buffer.from(said).toString('base64');
    const server = await startRawServer(
      (message) =>
        message.method === 'resources/list'
          ? { resources: [{ uri: `${uri}?v=${secret}`, name: 'a' }], nextCursor: cursor }
          : message.method === 'resources/read'
            ? { contents: [{ uri, mimeType: 'image/png', blob: file }] }
            : answer(message),
      { era, facts },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const send = await openClient(url, 'modern');
    const listed = await send('resources/list', {});
    expect(listed).toContain(cursor);
    expect(await send('resources/read', { uri: `${uri}?v=${secret}` })).toContain(file);
    expect(server.received.at(-1)?.params).toMatchObject({ uri: `${uri}?v=${secret}` });
  });

  it('is cut if it logs more than anyone reads, and refused if its answer cannot be looked through', async () => {
    const marks = '-----BEGIN '.repeat(2_000_000);
    const deep = JSON.parse(`${'['.repeat(1_000)}"${secret}"${']'.repeat(1_000)}`) as unknown;
    const server = await startRawServer(
      ({ method, params }) =>
        method === 'tools/call'
          ? new WithNotices([log(marks), log(deep), log({ many: Array(20_000).fill(secret) })], {
              content: [],
            })
          : method === 'prompts/get'
            ? { messages: [{ role: 'user', content: { type: 'text', text: marks } }] }
            : method === 'resources/read'
              ? { contents: [{ uri, text: deep }] }
              : answer({ method, params }),
      { era, facts },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const send = await openClient(url, 'modern');
    const told = await send('tools/call', { name: 'get_note', arguments: {} });
    expect(told.length).toBeLessThan(100_000);
    expect(told.match(/too long to show/g)).toHaveLength(3);
    for (const [method, params] of [
      ['prompts/get', { name: 'a' }],
      ['resources/read', { uri }],
    ] as const) {
      const text = await send(method, params);
      expect(text).toContain('more than half a million characters');
      expect(text).not.toContain(secret);
    }
  });
});
