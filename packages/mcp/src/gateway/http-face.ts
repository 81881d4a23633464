/**
 * Clients over streamable HTTP.
 *
 * 1. The server answers only to its own host names, and only to pages of its own origin.
 * 2. A caller shows a token of the ledger with the role operator. The token is never passed on to a server.
 * 3. A session belongs to the caller who opened it. Another caller does not find it.
 */
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { withNoStore } from '../serve/mcp-fetch.ts';
import { refuseOtherOrigins } from '../serve/own-origin.ts';
import type { Caller } from './client-request.ts';
import { Face } from './face.ts';
import type { Gateway } from './gateway.ts';
import type { RelayedRequest } from './relayed-request.ts';
import { textOf, toFields } from './relayed-request.ts';
import { watchAll } from './serve-stdio.ts';

/** Who sent a request; a response that refuses it otherwise. */
export type Authenticate = (request: Request) => Promise<Caller | Response>;

export type HttpFaceOptions = {
  readonly gateway: Gateway;
  readonly authenticate: Authenticate;
  /** Other host names that the server answers to. */
  readonly allowHosts: readonly string[];
  /** Name and port under which browsers reach it through a proxy. */
  readonly publicHost: string | undefined;
  readonly now: () => number;
};

type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly caller: Caller;
  usedAt: number;
};

const mostBodyBytes = 4 * 1_048_576;
const mostSessions = 1_000;
/** A session that its client left without an end. */
const idleMs = 2 * 3_600_000;

export const endpoint = '/mcp';

export class HttpFace {
  readonly #options: HttpFaceOptions;
  readonly #hosts: string[];
  readonly #sessions = new Map<string, Session>();
  readonly #callers = new WeakMap<Request, Caller>();
  readonly #modern: McpHttpHandler;

  constructor(options: HttpFaceOptions) {
    this.#options = options;
    const { gateway, allowHosts } = options;
    this.#hosts = [...localhostAllowedHostnames(), ...allowHosts];
    this.#modern = createMcpHandler(({ requestInfo }) => this.#modernFace(requestInfo).product, {
      legacy: 'reject',
      onerror: (error) => gateway.log('client', error.message),
    });
    gateway.onChange((notice) => publish(this.#modern, notice));
  }

  /** Checks host, origin and token, then answers. */
  async guard(request: Request, answer: (caller: Caller) => Response): Promise<Response> {
    const caller = await this.#identify(request);
    return caller instanceof Response ? caller : answer(caller);
  }

  async fetch(request: Request): Promise<Response> {
    return withNoStore(await this.#answer(request));
  }

  async #answer(request: Request): Promise<Response> {
    const caller = await this.#identify(request);
    if (caller instanceof Response) return caller;
    if (request.method !== 'POST') return this.#serveLegacy(request, undefined, caller);
    const read = await readBody(request);
    if (read instanceof Response) return read;
    const { body, text } = read;
    const again = new Request(request.url, {
      method: 'POST',
      headers: request.headers,
      body: text,
      signal: request.signal,
    });
    if (await isLegacyRequest(again, body)) return this.#serveLegacy(again, body, caller);
    const { method, params } = toFields(body);
    if (method === 'subscriptions/listen') watchAll(this.#options.gateway, params, caller);
    this.#callers.set(again, caller);
    return this.#modern.fetch(again, { parsedBody: body });
  }

  async close(): Promise<void> {
    await this.#modern.close();
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #identify(request: Request): Promise<Caller | Response> {
    return (
      refuseOtherOrigins(request, this.#hosts, this.#options.publicHost) ??
      (await this.#options.authenticate(request))
    );
  }

  #modernFace(request: Request | undefined): Face {
    const caller = request && this.#callers.get(request);
    if (request === undefined || caller === undefined) throw new TypeError('The caller is unknown.');
    const { gateway } = this.#options;
    const client = { info: {}, capabilities: {} };
    return new Face({ gateway, era: 'modern', caller, client, sessionId: undefined, request, opens: false });
  }

  #serveLegacy(request: Request, body: unknown, caller: Caller): Promise<Response> | Response {
    const id = request.headers.get('mcp-session-id');
    if (id === null)
      return isInitializeRequest(body)
        ? this.#openSession(request, body, caller)
        : refuse(400, -32_000, 'Bad Request: Session ID required');
    const session = this.#sessions.get(id);
    if (session === undefined || session.caller.id !== caller.id)
      return refuse(404, -32_001, 'Session not found');
    session.usedAt = this.#options.now();
    return session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
  }

  async #openSession(request: Request, body: unknown, caller: Caller): Promise<Response> {
    const { gateway, now } = this.#options;
    const sessions = this.#sessions;
    dropIdle(sessions, now());
    if (sessions.size >= mostSessions) return refuse(503, -32_000, 'Too many sessions.');
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void sessions.set(id, { transport, caller, usedAt: now() }),
      onsessionclosed: () => void sessions.delete(id),
    });
    const { clientInfo, capabilities } = toFields(toFields(body)['params']);
    const client = { info: toFields(clientInfo), capabilities: toFields(capabilities) };
    const face = new Face({
      gateway,
      era: 'legacy',
      caller,
      client,
      sessionId: id,
      request: undefined,
      opens: true,
    });
    await face.ready;
    await face.product.connect(transport);
    gateway.remember(face);
    const { onclose } = transport;
    transport.onclose = () => {
      sessions.delete(id);
      onclose?.();
    };
    return transport.handleRequest(request, { parsedBody: body });
  }
}

/** Tells modern clients that listen about a change. */
function publish({ notify }: McpHttpHandler, { method, params }: RelayedRequest): void {
  switch (method) {
    case 'notifications/tools/list_changed':
      return notify.toolsChanged();
    case 'notifications/prompts/list_changed':
      return notify.promptsChanged();
    case 'notifications/resources/list_changed':
      return notify.resourcesChanged();
    case 'notifications/resources/updated':
      return notify.resourceUpdated(textOf(params?.['uri']) ?? '');
    default:
  }
}

/** The body, and its text written again: the SDK reads exactly what was read here. */
async function readBody(
  request: Request,
): Promise<Response | { readonly body: unknown; readonly text: string }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBodyBytes)
      return refuse(413, -32_000, `The request is longer than ${mostBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
    return { body, text: JSON.stringify(body) };
  } catch {
    // Not JSON, or nested too deep to be written again.
    return refuse(400, -32_700, 'Parse error');
  }
}

function dropIdle(sessions: ReadonlyMap<string, Session>, now: number): void {
  for (const { usedAt, transport } of sessions.values())
    if (now - usedAt > idleMs) void transport.close().catch(() => undefined);
}

const refuse = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
