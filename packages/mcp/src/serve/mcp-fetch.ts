/**
 * An MCP server over HTTP, for both eras of the protocol. Modern requests (2026-07-28) carry their own envelope. Legacy
 * requests (up to 2025-11-25) belong to a session that begins with `initialize`.
 *
 * 1. Host and Origin are checked first, so that a web page cannot reach a local server through its own name.
 * 2. Only the principal that began a session may use it. Others get the answer for an unknown session.
 */
import { randomUUID } from 'node:crypto';
import type { AuthInfo, McpHttpHandler, McpServer } from '@modelcontextprotocol/server';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { refuseOtherOrigins } from './own-origin.ts';

/** The protocol before and after 2026-07-28. */
export type McpEra = 'legacy' | 'modern';

/** Facts about the connection or request that a server is made for. */
export type McpPeer = { readonly era: McpEra; readonly request?: Request; readonly authInfo?: AuthInfo };

export type McpFetchOptions = {
  readonly build: (peer: McpPeer) => McpServer;
  /** Default: both. */
  readonly eras?: readonly McpEra[];
  /** Names under which clients may address the server. Default: those of this machine. */
  readonly hostnames?: readonly string[];
  /** The most sessions at a time. The one unused for the longest time ends first. Default: 1,000. */
  readonly maxSessions?: number;
};

export type McpFetch = {
  readonly fetch: (request: Request, options?: { readonly authInfo?: AuthInfo }) => Promise<Response>;
  /** Tells modern clients about changes. The server of a session tells its own client. */
  readonly notify: McpHttpHandler['notify'];
  readonly close: () => Promise<void>;
};

type Session = {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly owner: string | undefined;
};

export function createMcpFetch(options: McpFetchOptions): McpFetch {
  const { build, eras = ['legacy', 'modern'], maxSessions = 1_000 } = options;
  const hostnames = [...(options.hostnames ?? localhostAllowedHostnames())];
  const sessions = new Map<string, Session>();
  const modern = createMcpHandler(
    ({ requestInfo, authInfo }) =>
      build({
        era: 'modern',
        ...(requestInfo !== undefined && { request: requestInfo }),
        ...(authInfo !== undefined && { authInfo }),
      }),
    { legacy: 'reject' },
  );

  async function begin(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        const [oldest] = sessions.size >= maxSessions ? sessions : [];
        if (oldest !== undefined) void oldest[1].transport.close();
        sessions.set(id, { transport, owner: authInfo?.clientId });
      },
    });
    await build({ era: 'legacy', request, ...(authInfo !== undefined && { authInfo }) }).connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
      onclose?.();
    };
    return transport.handleRequest(request, { parsedBody, ...(authInfo !== undefined && { authInfo }) });
  }

  async function serveLegacy(request: Request, authInfo: AuthInfo | undefined): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? undefined : sessions.get(id);
    if (id !== null && (session === undefined || session.owner !== authInfo?.clientId))
      return refuse(404, -32_001, 'Session not found');
    if (id !== null && session !== undefined) {
      // The map is in the order of use.
      sessions.delete(id);
      sessions.set(id, session);
      return session.transport.handleRequest(request, { ...(authInfo !== undefined && { authInfo }) });
    }
    const body: unknown =
      request.method === 'POST'
        ? await request
            .clone()
            .json()
            .catch(() => undefined)
        : {};
    if (body === undefined) return refuse(400, -32_700, 'Parse error');
    if (!isInitializeRequest(body)) return refuse(400, -32_000, 'Bad Request: a session is required');
    return begin(request, body, authInfo);
  }

  return {
    notify: modern.notify,
    async fetch(request, { authInfo } = {}) {
      const refused = refuseOtherOrigins(request, hostnames);
      if (refused !== undefined) return refused;
      const isLegacy =
        eras.includes('legacy') && (!eras.includes('modern') || (await isLegacyRequest(request)));
      return withNoStore(
        await (isLegacy
          ? serveLegacy(request, authInfo)
          : modern.fetch(request, { ...(authInfo !== undefined && { authInfo }) })),
      );
    },
    async close() {
      await modern.close();
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    },
  };
}

/** The SDK lets caches keep answers: streams with a check, others as they like. */
export function withNoStore(response: Response): Response {
  response.headers.set('cache-control', 'no-store, no-transform');
  return response;
}

const refuse = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
