import type { Readable, Writable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { checkObject } from '../../base/check-keys.ts';
import { createIsProxy, createReadAddress } from '../../http/read-address.ts';
import { listen } from '../../http/listen.ts';
import type { Tokens } from '../../http/token-content.ts';
import { createAuthenticate, protectedResource, wellKnown } from './authenticate.ts';
import type { Caller } from './client-request.ts';
import type { GatewayOptions, GatewayStatus } from './gateway.ts';
import { Gateway } from './gateway.ts';
import { endpoint, HttpFace } from './http-face.ts';
import { serveGatewayOverStdio } from './serve-stdio.ts';

export type McpHttpOptions = {
  /** Who may call: holders of tokens of this store, or everyone who can reach the address. */
  readonly access:
    | { readonly type: 'tokens'; readonly tokens: Tokens }
    | { readonly type: 'open'; readonly caller: Caller };
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Other host names that the server answers to. */
  readonly allowHosts?: readonly string[];
};

export interface McpGateway {
  /** Connects to the servers, learns their tools, and takes over calls of processes that are gone. */
  start(): Promise<void>;
  /** Serves one client. Resolves when the client has closed its end. */
  serveStdio(client: {
    readonly caller: Caller;
    readonly stdin: Readable;
    readonly stdout: Writable;
  }): Promise<void>;
  /** Serves clients over streamable HTTP, at `/mcp`. `/status` tells how the servers are. */
  listen(options: McpHttpOptions): Promise<{ readonly url: string; close(): Promise<void> }>;
  status(): GatewayStatus;
  /** Lets calls under way end. Held calls stay held. */
  close(): Promise<void>;
}

/** Creates a gateway in front of MCP servers. Every call of their tools goes through a runtime on the ledger. */
export function createMcpGateway(options: GatewayOptions): McpGateway {
  checkObject('createMcpGateway', options);
  const gateway = new Gateway(options);
  return {
    start: () => gateway.start(),
    serveStdio: (client) => serveGatewayOverStdio({ gateway, sessionId: randomUUID(), ...client }),
    listen: (http) => listenHttp(gateway, options, http),
    status: () => gateway.status(),
    close: () => gateway.close(),
  };
}

async function listenHttp(
  gateway: Gateway,
  { ledger }: GatewayOptions,
  { access, host = '127.0.0.1', port, allowHosts = [] }: McpHttpOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const now = (): number => ledger.now();
  const authenticate = createAuthenticate(access, now);
  const face = new HttpFace({ gateway, authenticate, allowHosts, now });
  const isProxy = createIsProxy({ proxies: [] });
  const listening = await listen(
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === endpoint) return face.fetch(request);
      if (pathname === wellKnown || pathname === `${wellKnown}${endpoint}`) return protectedResource(request);
      if (pathname === '/status') return face.guard(request, () => Response.json(gateway.status()));
      return new Response(null, { status: 404 });
    },
    {
      host,
      port,
      timeouts: { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 10_000 },
      mostConnections: 4_096,
      mostPerAddress: 4_096,
      isProxy,
      readAddress: createReadAddress(isProxy, 'x-forwarded-for'),
      proxyHeader: 'x-forwarded-for',
      stallMs: 30_000,
    },
  );
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}${endpoint}`,
    async close() {
      await face.close();
      await listening.close();
    },
  };
}
