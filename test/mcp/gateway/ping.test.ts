/** Pings: a client asks the gateway, and a server asks through the connection that the gateway holds. */
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it } from 'vitest';
import { createMcpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { ada, effectServer, makeFolder, startGateway } from './start-gateway.ts';
import { startEffects, startServer } from './start-server.ts';

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

describe('a ping of the client', () => {
  it('is answered over HTTP', async () => {
    const { connect } = await startGateway([(await startEffects()).entry]);
    const client = await connect('legacy');
    expect(await client.ping()).toEqual({});
  });

  it('is answered over stdio, also if the server has died', async () => {
    const entry = effectServer('effects', `${makeFolder()}/effects`);
    const gateway = createMcpGateway({
      config: { servers: [entry], observe: false },
      ledger: createMemoryLedger(),
      version: '1',
    });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const serving = gateway.serveStdio({ caller: ada, stdin, stdout });
    const client = new Client({ name: 'desk', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new StdioServerTransport(stdout, stdin));
    expect(await client.ping()).toEqual({});
    expect(textOf(await client.callTool({ name: 'create_and_die', arguments: {} }))).toContain('unknown');
    expect(await client.ping()).toEqual({});
    await client.close();
    stdin.end();
    await serving;
    await gateway.close();
  });
});

describe('a request that JSON-RPC does not allow', () => {
  it('is answered over stdio with an error, and the connection goes on', async () => {
    const logged: string[] = [];
    const gateway = createMcpGateway({
      config: { servers: [], observe: false },
      ledger: createMemoryLedger(),
      version: '1',
      log: (_, line) => logged.push(line),
    });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const serving = gateway.serveStdio({ caller: ada, stdin, stdout });
    const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
    const ask = async (message: object): Promise<unknown> => {
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      return JSON.parse((await answers.next()).value ?? 'null');
    };
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'desk', version: '1' },
    };
    await ask({ id: 1, method: 'initialize', params });
    const refused = { code: -32_600, message: 'Invalid Request' };
    expect(await ask({ id: 2, method: 'tools/list', params: ['a'] })).toMatchObject({
      id: 2,
      error: refused,
    });
    expect(logged).toEqual(['A message is not valid JSON-RPC.']);
    expect(await ask({ id: 'x', method: 'ping' })).toMatchObject({ id: 'x', result: {} });
    stdin.end();
    await serving;
    await gateway.close();
  });
});

describe('a ping of the server', () => {
  it('is answered within a call, although the client can be asked nothing', async () => {
    const entry = await startServer(
      () => {
        const server = new McpServer({ name: 'pings', version: '1' });
        const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
        server.registerTool('get_ping', { inputSchema }, async (_, { mcpReq }) => ({
          content: [{ type: 'text', text: JSON.stringify(await mcpReq.send({ method: 'ping' })) }],
        }));
        return server;
      },
      { era: 'legacy' },
    );
    const { connect } = await startGateway([entry]);
    for (const era of ['legacy', 'modern'] as const) {
      const client = await connect(era);
      expect(textOf(await client.callTool({ name: 'get_ping', arguments: {} }))).toBe('{}');
    }
  });
});
