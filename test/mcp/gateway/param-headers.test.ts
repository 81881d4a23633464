import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeCommand } from '../../../conformance/mcp/start-program.ts';
import { toParamHeaders } from '../../../src/mcp/gateway/param-headers.ts';
import { makeFolder } from './start-gateway.ts';

const schema = {
  type: 'object' as const,
  properties: {
    region: { type: 'string' as const, 'x-mcp-header': 'Region' },
    limits: {
      type: 'object' as const,
      properties: { most: { type: 'integer' as const, 'x-mcp-header': 'Most' } },
    },
  },
};

/** A modern server over HTTP. The SDK refuses calls whose headers differ from the arguments. */
async function startServer() {
  const seen: Record<string, string>[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'regions', version: '1' });
    server.registerTool('get_region', { inputSchema: fromJsonSchema<object>(schema) }, (given) => ({
      content: [{ type: 'text', text: JSON.stringify(given) }],
    }));
    return server;
  });
  const listener = getRequestListener((request) => {
    const given = [...request.headers].filter(([name]) => name.startsWith('mcp-param-'));
    if (given.length > 0) seen.push(Object.fromEntries(given));
    return handler.fetch(request);
  });
  const http = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, seen };
}

describe('headers that repeat arguments', () => {
  it('are made for a server over HTTP if the client has none', async () => {
    const { url, seen } = await startServer();
    const folder = makeFolder();
    const config = join(folder, 'mcp.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { regions: { type: 'http', url } } }));
    const options = ['--config', config, '--observe', '--ledger', join(folder, 'ledger.db')];
    const [command = '', ...args] = nodeCommand('src/cli/main.ts', 'mcp', ...options);
    const client = new Client(
      { name: 'probe', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    onTestFinished(() => client.close());
    await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
    const given = { region: 'Zürich', limits: { most: 7 } };
    const { content, isError } = await client.callTool({ name: 'get_region', arguments: given });
    expect(isError).not.toBe(true);
    expect(content).toMatchObject([{ text: JSON.stringify(given) }]);
    expect(seen).toEqual([{ 'mcp-param-region': '=?base64?WsO8cmljaA==?=', 'mcp-param-most': '7' }]);
  });

  it('leave out what the protocol does not allow', () => {
    const properties = {
      a: { type: 'number', 'x-mcp-header': 'A' },
      b: { type: 'string', 'x-mcp-header': 'B\r\nX' },
      c: { type: 'string', 'x-mcp-header': 'C' },
      d: { type: 'boolean', 'x-mcp-header': 'D' },
      e: { type: 'array', items: { type: 'string', 'x-mcp-header': 'E' } },
    };
    const given = { a: 1.5, b: 'x', c: ' padded\r\n', d: false, e: ['x'] };
    expect(toParamHeaders({ type: 'object', properties }, given)).toEqual({
      'Mcp-Param-C': `=?base64?${Buffer.from(' padded\r\n').toString('base64')}?=`,
      'Mcp-Param-D': 'false',
    });
    expect(toParamHeaders({ properties }, { c: '=?base64?eA==?=' })).toEqual({
      'Mcp-Param-C': `=?base64?${Buffer.from('=?base64?eA==?=').toString('base64')}?=`,
    });
  });
});
