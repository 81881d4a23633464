/** A server over HTTP that writes JSON-RPC by hand, for attacks on the gateway, and a client that does the same. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';

export type RawMessage = {
  readonly id?: number | string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
};

/** Messages that are sent before the answer, on its stream. */
export class WithNotices {
  readonly notices: readonly object[];
  readonly result: unknown;

  constructor(notices: readonly object[], result: unknown) {
    this.notices = notices;
    this.result = result;
  }
}

/** An error instead of a result. */
export class WithError {
  readonly error: object;

  constructor(error: object) {
    this.error = error;
  }
}

export type RawServer = {
  readonly entry: ServerEntry;
  /** Every message that reached the server, oldest first. */
  readonly received: RawMessage[];
};

/** `answer` returns a result, or undefined for an unknown method. Each handshake is answered with `facts`. */
export async function startRawServer(
  answer: (message: RawMessage) => unknown,
  {
    era = 'modern',
    name = 'raw',
    facts = {},
    settings = {},
  }: {
    readonly era?: 'legacy' | 'modern';
    readonly name?: string;
    readonly facts?: object;
    readonly settings?: Partial<Pick<ServerEntry, 'tools' | 'isTrusted'>>;
  } = {},
): Promise<RawServer> {
  const received: RawMessage[] = [];
  const handshake = era === 'legacy' ? 'initialize' : 'server/discover';
  const said = (): object => ({
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    serverInfo: { name: 'raw', version: '1' },
    ...(era === 'legacy'
      ? { protocolVersion: '2025-11-25' }
      : { supportedVersions: ['2026-07-28'], resultType: 'complete' }),
    ...facts,
  });
  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as RawMessage;
      received.push({ ...message, params: message.params ?? {} });
      if (message.id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const { id, method } = message;
      void Promise.resolve(
        method === handshake ? said() : answer({ ...message, params: message.params ?? {} }),
      ).then((answered) => {
        const notices = answered instanceof WithNotices ? answered.notices : [];
        const result = answered instanceof WithNotices ? answered.result : answered;
        const last =
          result === undefined
            ? { error: { code: -32_601, message: 'Method not found' } }
            : result instanceof WithError
              ? { error: result.error }
              : { result };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const each of [...notices, { id, ...last }])
          response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`);
        response.end();
      });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const entry: ServerEntry = {
    name,
    isTrusted: false,
    tools: {},
    isDisabled: false,
    ...settings,
    type: 'http',
    url,
    headers: {},
  };
  return { entry, received };
}

export type RawAnswer = {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
};

/** Sends one request of 2026-07-28 and returns the answer. */
export async function postModern(
  url: string,
  method: string,
  params: object = {},
  capabilities: object = {},
): Promise<RawAnswer> {
  const { name, uri, taskId } = params as { name?: string; uri?: string; taskId?: string };
  const named = name ?? uri ?? taskId;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named !== undefined && { 'mcp-name': named }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
      },
    }),
  });
  return lastMessage(await response.text());
}

/** A session of 2025-11-25 that sends what a client of the SDK would not. */
export async function openLegacy(
  url: string,
  capabilities: object = {},
): Promise<{
  /** Any JSON body. Undefined: the gateway sent no message. */
  readonly send: (body: unknown) => Promise<RawAnswer | undefined>;
  readonly request: (method: string, params?: object) => Promise<RawAnswer>;
}> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  let nextId = 0;
  const send = async (body: unknown): Promise<RawAnswer | undefined> => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const session = response.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    const text = await response.text();
    return text === '' ? undefined : lastMessage(text);
  };
  const request = async (method: string, params: object = {}): Promise<RawAnswer> =>
    (await send({ jsonrpc: '2.0', id: (nextId += 1), method, params })) ?? {};
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'raw', version: '1' },
  });
  headers['mcp-protocol-version'] = '2025-11-25';
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return { send, request };
}

/** The last message of a JSON body or of a stream of events. */
function lastMessage(text: string): RawAnswer {
  const lines = text.split('\n').filter((line) => line.startsWith('data:'));
  return JSON.parse(lines.at(-1)?.slice(5) ?? text) as RawAnswer;
}
