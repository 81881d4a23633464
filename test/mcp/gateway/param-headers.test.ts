import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toParamHeaders } from '../../../packages/mcp/src/gateway/governed-calls.ts';
import { startGateway } from './start-gateway.ts';

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
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'regions', version: '1' });
      server.registerTool('get_region', { inputSchema: fromJsonSchema<object>(schema) }, (given) => ({
        content: [{ type: 'text', text: JSON.stringify(given) }],
      }));
      return server;
    },
    { legacy: 'reject' },
  );
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
    const address = { type: 'http' as const, url: new URL(url), headers: {} };
    const entry = { name: 'regions', isTrusted: false, tools: {}, isDisabled: false, ...address };
    const { connect } = await startGateway([entry], { observe: true });
    // A client of the older protocol sends no such headers, and no client does over stdio.
    const client = await connect('legacy');
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
