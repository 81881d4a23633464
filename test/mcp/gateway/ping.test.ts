/** Pings: a client asks the gateway, and a server asks through the connection that the gateway holds. */
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it } from 'vitest';
import { createMcpGateway } from '../../../src/mcp/gateway/create-gateway.ts';
import { createMemoryLedger } from '../../../src/store/memory/memory-ledger.ts';
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
