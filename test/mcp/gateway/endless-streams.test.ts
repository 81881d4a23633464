/** Servers over HTTP whose answers never end. Each is cut off, and affects only itself. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { callsIn, effectServer, makeFolder, startGateway } from './start-gateway.ts';

const chunk = `: ${'x'.repeat(262_144)}\n`;

/** Writes as fast as the other end reads, until it has enough. */
function pour(response: ServerResponse, text: string): void {
  const write = (): void => {
    while (!response.destroyed && response.write(text));
  };
  response.on('drain', write);
  write();
}

const ways: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'comments of a stream': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    pour(response, chunk);
  },
  'an event without an end': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: ');
    pour(response, 'x'.repeat(262_144));
  },
  'a JSON document without an end': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
    pour(response, 'x'.repeat(262_144));
  },
};

type Message = { readonly id?: number; readonly method?: string };

async function readMessage(request: IncomingMessage): Promise<Message> {
  let text = '';
  for await (const part of request) text += String(part);
  return JSON.parse(text || '{}') as Message;
}

async function startEndless(answer: (response: ServerResponse) => void): Promise<ServerEntry> {
  const tool = { name: 'create_endless', inputSchema: { type: 'object', properties: {} } };
  const facts = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'endless', version: '1' },
  };
  const http = createServer((request, response) => {
    void (async () => {
      const { id, method } = await readMessage(request);
      const results: Readonly<Record<string, object>> = {
        initialize: facts,
        'tools/list': { tools: [tool] },
      };
      if (method === 'tools/call') return answer(response);
      const result = results[method ?? ''];
      if (result === undefined)
        return void response.writeHead(request.method === 'POST' && id === undefined ? 202 : 405).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  return {
    name: 'endless',
    isTrusted: false,
    tools: {},
    isDisabled: false,
    type: 'http',
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    headers: {},
  };
}

describe('a server over HTTP that never stops to answer', () => {
  it.each(Object.entries(ways))(
    'a server over HTTP that never stops to answer with %s is cut off, and the outcome is unknown',
    async (_, answer) => {
      const file = join(makeFolder(), 'effects');
      const { connect, ledger } = await startGateway(
        [await startEndless(answer), effectServer('notes', file)],
        {
          observe: true,
        },
      );
      const client = await connect('legacy');
      const calling = client.callTool(
        { name: 'endless__create_endless', arguments: {} },
        { timeout: 110_000 },
      );
      // Others are served meanwhile.
      const note = await client.callTool({ name: 'notes__create_note', arguments: { text: 'a' } });
      expect(note.isError).not.toBe(true);
      const result = await calling;
      expect(result.isError).toBe(true);
      expect(JSON.stringify(result.content)).toContain('do not repeat it');
      expect(await callsIn(ledger)).toContainEqual([
        'endless__create_endless',
        'settled',
        'tool.indeterminate',
      ]);
    },
  );
});
