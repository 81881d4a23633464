/** The MCP endpoint answers web pages of its own origin only, port included. */
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { startRawServer } from './raw-server.ts';
import { startGateway } from './start-gateway.ts';

it('no answer may be stored by a cache', async () => {
  const server = await startRawServer(
    ({ method }) =>
      method === 'tools/list'
        ? { tools: [{ name: 'get_note', inputSchema: { type: 'object' } }] }
        : { content: [{ type: 'text', text: 'a note' }] },
    { era: 'legacy' },
  );
  const { url } = await startGateway([server.entry], { observe: true });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = async (method: string, body: object | undefined): Promise<void> => {
    const answer = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) }),
    });
    headers['mcp-session-id'] ??= answer.headers.get('mcp-session-id') ?? '';
    expect([method, body, answer.headers.get('cache-control')]).toEqual([
      method,
      body,
      expect.stringContaining('no-store'),
    ]);
    await answer.body?.cancel();
  };
  const clientInfo = { name: 'raw', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  await send('POST', { method: 'initialize', params });
  await send('POST', { method: 'tools/call', params: { name: 'get_note', arguments: {} } });
  await send('GET', undefined);
  await send('DELETE', undefined);
});

it('refuses pages of other origins, whatever their headers look like', async () => {
  const server = await startRawServer(() => ({ tools: [] }), { era: 'legacy' });
  const { url } = await startGateway([server.entry]);
  const { port } = new URL(url);
  const before = server.received.length;
  const statusOf = (
    headers: Record<string, string | string[]>,
    { method = 'POST', path = '/mcp' }: { method?: string; path?: string } = {},
  ): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : undefined);
    });
  const host = `127.0.0.1:${port}`;
  for (const headers of [
    { origin: 'http://127.0.0.1:1' },
    { origin: 'http://127.0.0.1' },
    { origin: `http://localhost:${port}` },
    { origin: 'null' },
    { origin: '' },
    { origin: `http://${host}.evil.example` },
    { origin: `http://evil.example@${host}` },
    { origin: `http://${host}/` },
    { origin: `http://${host}, http://evil.example` },
    { origin: `chrome-extension://${host}` },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    { host: `evil.example:${port}`, origin: `http://evil.example:${port}` },
    { host: `127.0.0.1.evil.example:${port}` },
  ])
    for (const [method, path] of [
      ['POST', '/mcp'],
      ['GET', '/mcp'],
      ['DELETE', '/mcp'],
      ['GET', '/status'],
    ] as const)
      expect([headers, method, path, await statusOf({ host, ...headers }, { method, path })]).toEqual([
        headers,
        method,
        path,
        403,
      ]);
  expect(server.received).toHaveLength(before);
  expect(await statusOf({ host, origin: `http://${host}` }, { method: 'GET', path: '/status' })).toBe(200);
  expect(await statusOf({ host, origin: `HTTP://${host}` }, { method: 'GET', path: '/status' })).toBe(200);
});
