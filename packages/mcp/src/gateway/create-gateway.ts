import type { Readable, Writable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { checkObject } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import { createIsProxy, createReadAddress } from '@quittance/server/internal/http/read-address';
import { listen } from '@quittance/server/internal/http/listen';
import { addSafeHeaders } from '@quittance/server/internal/http/safe-headers';
import { isLoopback } from 'quittance/internal/outbound/address';
import type { HttpAccess } from './authenticate.ts';
import { createAuthenticate } from './authenticate.ts';
import { defaultOAuthRoles } from './auth-role.ts';
import type { Resource } from './refuse-bearer.ts';
import { describeResource, isMetadataPath, scopesOf } from './refuse-bearer.ts';
import type { Caller } from './client-request.ts';
import type { GatewayOptions, GatewayStatus } from './gateway.ts';
import { Gateway } from './gateway.ts';
import { endpoint, HttpFace } from './http-face.ts';
import { serveGatewayOverStdio } from './serve-stdio.ts';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { GatewayBoard } from '@quittance/server/internal/mcp-reviews/gateway-board';
import { repeatMs } from '@quittance/server/internal/mcp-reviews/gateway-board';
import type { GatewayReport } from '@quittance/server/internal/mcp-reviews/gateway-report';

export type McpHttpOptions = {
  /** Who may call: holders of tokens of a store or of an OAuth issuer, or everyone who can reach the address. */
  readonly access: HttpAccess;
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
  /** Serves one client. Resolves when the client has closed its end, or the gateway has closed. */
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
  const { ledger, board, config } = options;
  const pulse = new GatewayPulse({ gateway, ledger, board, observes: config.observe });
  const closed = new AbortController();
  return {
    start() {
      pulse.start();
      return gateway.start();
    },
    serveStdio(client) {
      pulse.start();
      return serveGatewayOverStdio({ gateway, sessionId: randomUUID(), closed: closed.signal, ...client });
    },
    listen(http) {
      pulse.start();
      return listenHttp(gateway, options, http);
    },
    status: () => gateway.status(),
    async close() {
      await gateway.close();
      closed.abort();
      await pulse.stop();
    },
  };
}

async function listenHttp(
  gateway: Gateway,
  { ledger }: GatewayOptions,
  { access, host = '127.0.0.1', port, allowHosts = [] }: McpHttpOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const now = (): number => ledger.now();
  const isProxy = createIsProxy({ proxies: [] });
  // Known once the server listens, which is before any request.
  let url = '';
  const resourceOf = createResourceOf(access, host, () => url);
  const log = (line: string): void => gateway.log('client', line);
  const authenticate = createAuthenticate(access, { now, resourceOf, log });
  const publicUrl =
    access.type === 'oauth' && access.resource !== undefined ? new URL(access.resource) : undefined;
  const face = new HttpFace({
    gateway,
    authenticate,
    allowHosts: publicUrl === undefined ? allowHosts : [...allowHosts, publicUrl.hostname],
    publicHost: publicUrl?.host,
    now,
  });
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === endpoint) return face.fetch(request);
    if (isMetadataPath(pathname, endpoint)) return describeResource(resourceOf(request));
    if (pathname === '/status') return face.guard(request, () => Response.json(gateway.status()));
    return new Response(null, { status: 404 });
  };
  const listening = await listen(async (request) => addSafeHeaders(await answer(request)), {
    host,
    port,
    timeouts: { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 10_000 },
    mostConnections: 4_096,
    mostPerAddress: 4_096,
    isProxy,
    readAddress: createReadAddress(isProxy, 'x-forwarded-for'),
    proxyHeader: 'x-forwarded-for',
    stallMs: 30_000,
  });
  url = `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}${endpoint}`;
  return {
    url,
    async close() {
      await face.close();
      await listening.close();
    },
  };
}

/**
 * The endpoint as clients reach it. Access tokens are issued for one address. The Host header must not choose it, or a
 * token for another server of this machine would count.
 */
function createResourceOf(
  access: HttpAccess,
  host: string,
  boundUrl: () => string,
): (request: Request) => Resource {
  if (access.type !== 'oauth')
    return (request) => ({ url: new URL(endpoint, request.url).href, issuer: undefined, scopes: [] });
  const { issuer, resource, roles = defaultOAuthRoles } = access;
  if (resource === undefined ? !isLoopback(host) : !URL.canParse(resource))
    throw new QuittanceError(
      'config.invalid',
      'Access tokens are issued for the public address of the endpoint. Give it as "resource", e.g. https://mcp.example.com/mcp.',
    );
  const scopes = scopesOf(roles);
  return () => ({ url: resource ?? boundUrl(), issuer, scopes });
}

/**
 * The regular work of a gateway. It reports its state to people who look from other processes. It applies the answers
 * about tools that they gave meanwhile. Trouble with the ledger stops neither the gateway nor the next try.
 */

export type PulseOptions = {
  readonly gateway: Gateway;
  readonly ledger: Pick<OpenLedger, 'now' | 'ownerId'>;
  readonly board: GatewayBoard | undefined;
  readonly observes: boolean;
};

/** How soon a change of state, or an answer of a person, has effect elsewhere. */
const beatMs = 1_000;

export class GatewayPulse {
  readonly #options: PulseOptions;
  readonly #gatewayId = randomUUID();
  readonly #startedAt: number;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #published: { readonly text: string; readonly at: number } | undefined;
  #isTroubled = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#startedAt = options.ledger.now();
  }

  /** Begins at the first call. */
  start(): void {
    if (this.#timer !== undefined) return;
    let isBusy = false;
    const beat = (): void => {
      if (isBusy) return;
      isBusy = true;
      this.#beating = this.#beat().finally(() => (isBusy = false));
    };
    this.#timer = setInterval(beat, beatMs).unref();
    beat();
  }

  /** Reports the end. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    await this.#beating;
    await this.#try(() => this.#publish({ isOver: true }));
  }

  async #beat(): Promise<void> {
    await this.#try(async () => {
      await this.#options.gateway.applyReviews();
      await this.#publish({ isOver: false });
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#isTroubled = false;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (!this.#isTroubled)
        this.#options.gateway.log('gateway', `The state could not be reported. ${words}`);
      this.#isTroubled = true;
    }
  }

  async #publish({ isOver }: { readonly isOver: boolean }): Promise<void> {
    const { board, gateway, ledger, observes } = this.#options;
    if (board === undefined) return;
    const now = ledger.now();
    const report: Omit<GatewayReport, 'seenAt'> = {
      gatewayId: this.#gatewayId,
      ownerId: ledger.ownerId,
      startedAt: this.#startedAt,
      endedAt: isOver ? now : undefined,
      observes,
      clients: isOver ? [] : gateway.clientNames(),
      servers: gateway.serverReports(),
    };
    const text = JSON.stringify(report);
    if (this.#published?.text === text && now - this.#published.at < repeatMs) return;
    await board.publish({ ...report, seenAt: now });
    this.#published = { text, at: now };
  }
}
