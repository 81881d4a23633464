/**
 * The view of one client. For a legacy client it lasts as long as the session. For a modern client it lasts as long as
 * the connection over stdio, or for one request over HTTP. The SDK speaks the protocol. This file connects it to the
 * relay and to the governed calls.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import { McpServer, ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/server';
import { setTimeout as sleep } from 'node:timers/promises';
import { safeText } from 'quittance/internal/base/safe-text';
import type { Caller, ClientRequest } from './client-request.ts';
import { toClientResult } from './client-result.ts';
import type { Connection, Exchange } from './connection.ts';
import { LegacyConnection } from './connection.ts';
import type { Gateway } from './gateway.ts';
import { isClientNotice, judgeRequest } from './methods.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { anyResult, envelopeKeys, rpcCodes, toFields, textOf } from './relayed-request.ts';
import type { SendToServer } from './open-call.ts';
import { Relay } from './relay.ts';
import type { Upstream } from './upstream.ts';
import { quoteName } from './wire.ts';

export type FaceOptions = {
  readonly gateway: Gateway;
  readonly era: Era;
  readonly caller: Caller;
  /** What a legacy client said in its handshake. */
  readonly client: { readonly info: Fields; readonly capabilities: Fields };
  /** Unique for the live session of a legacy client. */
  readonly sessionId: string | undefined;
  /** The HTTP request of a modern client. */
  readonly request: Request | undefined;
  /** A legacy session opens its connections first, so that the client learns what the servers can do. */
  readonly opens: boolean;
};

/** How long several servers may take to start before the client is served. */
const startMs = 10_000;
/** People answer questions of servers, so these may take long. */
const askMs = 3_600_000;

/** Methods of the protocol that the relay serves. The SDK answers others over HTTP with 404. */
const served: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
]);
const taskMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
/** Other requests of modern clients, which the SDK answers itself. */
const ofTheSdk: ReadonlySet<string> = new Set([
  ...taskMethods,
  'server/discover',
  'subscriptions/listen',
  'ping',
]);

/** The SDK checks `Mcp-Param-*` headers against the schemas of this class. */
class GatewayServer extends McpServer {
  readonly #schemaOf: (name: string) => Record<string, unknown> | undefined;

  constructor(gateway: Gateway, era: Era, caller: Caller) {
    const { info, capabilities, instructions } = gateway.facts(era, caller);
    super(
      { name: 'quittance', version: '0', ...info },
      { capabilities: { ...capabilities }, ...(instructions !== undefined && { instructions }) },
    );
    this.#schemaOf = (name) => {
      const schema = gateway.catalog.get(name)?.listed.inputSchema;
      return schema === undefined ? undefined : { ...toFields(schema) };
    };
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#schemaOf(name);
  }
}

export class Face {
  readonly ready: Promise<void>;
  #product: McpServer | undefined;
  readonly #options: FaceOptions;
  readonly #relay: Relay;
  readonly #connections = new Map<string, Promise<Connection>>();
  readonly #subscribed = new Set<string>();
  #logLevel: string | undefined;
  readonly #ending = new AbortController();
  #closed = false;

  constructor(options: FaceOptions) {
    this.#options = options;
    const { gateway } = options;
    this.#relay = new Relay({
      upstreams: gateway.upstreamsFor(options.caller),
      names: gateway.names,
      sendTo: (upstream) => this.sendTo(upstream),
      showTools: (upstream, listed, isWhole) => gateway.showTools(upstream, listed, isWhole, options.caller),
      knownTools: (upstream) =>
        gateway.catalog.list().flatMap(({ server, listed }) => (server === upstream.name ? [listed] : [])),
      ownTools: () => gateway.ownTools(),
      owners: gateway.owners,
      openRequests: gateway.openRequests,
      redactor: gateway.redactor,
      offers: (upstream, offer) => gateway.offers(upstream, offer),
      log: gateway.log,
    });
    this.ready = options.opens
      ? this.#openAll().then(() => gateway.prepare(options.caller))
      : Promise.resolve();
  }

  get clientName(): string | undefined {
    return textOf(this.#options.client.info['name'])?.slice(0, 100);
  }

  /** Available once `ready` has resolved: what it declares depends on the servers. */
  get product(): McpServer {
    return (this.#product ??= this.#create());
  }

  #create(): McpServer {
    const { gateway, era, caller, request } = this.#options;
    const product = new GatewayServer(gateway, era, caller);
    const { server } = product;
    for (const method of [...served, 'logging/setLevel']) server.removeRequestHandler(method);
    const handle = (asked: RelayedRequest, context: ServerContext): Promise<Fields> =>
      this.#handle(asked, context);
    const named = request?.headers.get('mcp-method') ?? '';
    if (request === undefined || served.has(named))
      server.fallbackRequestHandler = (asked, context) => handle(toRelayed(asked), context);
    else if (named !== '' && !ofTheSdk.has(named)) this.#logRefused({ method: named });
    if (era === 'modern')
      for (const method of taskMethods)
        server.setRequestHandler(method, { params: anyResult, result: anyResult }, (params, context) =>
          handle({ method, params: toFields(params) }, context),
        );
    server.fallbackNotificationHandler = async (notice) => {
      if (isClientNotice(notice.method, caller)) await this.#notifyServers(toRelayed(notice));
      else if (notice.method !== 'notifications/initialized') this.#logRefused(toRelayed(notice));
    };
    server.onclose = () => void this.close();
    return product;
  }

  async #openAll(): Promise<void> {
    const { gateway, caller } = this.#options;
    const upstreams = gateway.upstreamsFor(caller);
    const opening = upstreams.map((upstream) => this.#connect(upstream));
    const opened = Promise.allSettled(opening);
    if (upstreams.length === 1) return void (await opened);
    // One slow server does not keep the others back. The client lists again when it is up.
    const slow = await Promise.race([
      opened.then(() => false),
      sleep(startMs, true, { ref: false, signal: this.#ending.signal }).catch(() => true),
    ]);
    if (slow) void opened.then(() => this.tell({ method: 'notifications/tools/list_changed' }));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ending.abort();
    this.#options.gateway.forget(this);
    for (const opening of this.#connections.values()) {
      const connection = await opening.catch(() => undefined);
      if (connection instanceof LegacyConnection) await connection.release();
    }
  }

  /** Passes on a notice that a server sent to no client in particular. */
  tell(notice: RelayedRequest): void {
    if (this.#options.era === 'legacy' && notice.method === 'notifications/resources/updated')
      if (!this.#subscribed.has(textOf(notice.params?.['uri']) ?? '')) return;
    void this.product.server.notification(toSdk(notice)).catch(() => undefined); // the client may be gone
  }

  sendTo(upstream: Upstream): SendToServer {
    if (this.#options.era === 'modern') return (request, exchange) => upstream.send(request, exchange);
    return async (request, exchange) => {
      const connection = await this.#connect(upstream);
      return connection.era === 'legacy'
        ? connection.send(request, exchange)
        : this.#sendModern(upstream, request, exchange);
    };
  }

  /** What a legacy client asks of a modern server in another way than the server knows. */
  async #sendModern(upstream: Upstream, request: RelayedRequest, exchange: Exchange): Promise<Fields> {
    const uri = textOf(request.params?.['uri']);
    switch (request.method) {
      case 'logging/setLevel':
        return {};
      case 'resources/subscribe':
        if (uri !== undefined) await upstream.watch(uri);
        return {};
      case 'resources/unsubscribe':
        return {};
      default: {
        const envelope = this.#logLevel === undefined ? {} : { [envelopeKeys.logLevel]: this.#logLevel };
        return upstream.send(request, { ...exchange, envelope });
      }
    }
  }

  #connect(upstream: Upstream): Promise<Connection> {
    const known = this.#connections.get(upstream.name);
    const opening = (known ?? Promise.resolve(undefined))
      .catch(() => undefined)
      .then(async (connection) => {
        if (connection?.isOpen === true) return connection;
        const opened = await this.#open(upstream);
        if (known !== undefined) await this.#restore(upstream, opened);
        return opened;
      });
    this.#connections.set(upstream.name, opening);
    opening.catch(() => undefined);
    return opening;
  }

  async #open(upstream: Upstream): Promise<Connection> {
    const { gateway, client } = this.#options;
    const connection = await upstream.openSession(client, {
      onNotice: (notice) => gateway.noticed(upstream, notice, this),
      ask: (request) => this.#askClient(request),
      onClose: () => undefined,
    });
    if (this.#closed && connection.era === 'legacy') await connection.close();
    return connection;
  }

  /** A server that was started again does not know what the client subscribed to, or its log level. */
  async #restore(upstream: Upstream, connection: Connection): Promise<void> {
    if (connection.era === 'modern') return;
    const { gateway, caller } = this.#options;
    const among = gateway.upstreamsFor(caller);
    const uris = [...this.#subscribed].filter(
      (uri) => (gateway.owners.find(uri, among) ?? upstream) === upstream,
    );
    const requests: RelayedRequest[] = uris.map((uri) => ({
      method: 'resources/subscribe',
      params: { uri },
    }));
    if (this.#logLevel !== undefined && upstream.can('logging'))
      requests.push({ method: 'logging/setLevel', params: { level: this.#logLevel } });
    const exchange: Exchange = {
      signal: this.#ending.signal,
      capabilities: {},
      envelope: undefined,
      headers: undefined,
      onProgress: undefined,
      onNotice: (notice) => this.tell(notice),
      ask: (request) => this.#askClient(request),
    };
    await Promise.allSettled(requests.map((request) => connection.send(request, exchange)));
  }

  /** Asks a legacy client outside of any request. */
  async #askClient({ method, params }: RelayedRequest): Promise<Fields> {
    const request = { method, ...(params !== undefined && { params: { ...params } }) };
    return this.product.server.request(request, anyResult, { timeout: askMs });
  }

  async #notifyServers(notice: RelayedRequest): Promise<void> {
    for (const opening of this.#connections.values())
      await (await opening.catch(() => undefined))?.notify(notice).catch(() => undefined);
  }

  #logRefused({ method, params }: RelayedRequest): void {
    const { gateway, caller } = this.#options;
    const named = textOf(params?.['taskId']) ?? textOf(toFields(params?.['_meta'])['quittance/callId']);
    const about = named === undefined ? '' : ` about ${safeText(named).slice(0, 200)}`;
    gateway.log('client', `${safeText(caller.id)} sent ${quoteName(method)}${about}, which was refused.`);
  }

  async #handle(request: RelayedRequest, context: ServerContext): Promise<Fields> {
    const { gateway, caller } = this.#options;
    const may = judgeRequest(request.method, caller);
    if (may !== 'allowed') {
      this.#logRefused(request);
      throw may === 'unknown'
        ? new ProtocolError(rpcCodes.methodNotFound, 'Method not found')
        : new ProtocolError(
            rpcCodes.invalidRequest,
            'A viewer may only read. This request needs the role operator.',
          );
    }
    const client = this.#toClient(context);
    const uri = textOf(request.params?.['uri']) ?? '';
    if (request.method === 'resources/subscribe') this.#subscribed.add(uri);
    if (request.method === 'resources/unsubscribe') this.#subscribed.delete(uri);
    if (request.method === 'logging/setLevel') this.#logLevel = textOf(request.params?.['level']);
    if (request.method === 'tools/call') {
      const sendTo = (upstream: Upstream): SendToServer => this.sendTo(upstream);
      return toClientResult(await gateway.callTool(request.params ?? {}, client, sendTo), client.era);
    }
    return (await gateway.handleOwn(request, client)) ?? this.#relay.handle(request, client);
  }

  #toClient({ mcpReq }: ServerContext): ClientRequest {
    const { era, caller, client, sessionId, request } = this.#options;
    const envelope = mcpReq.envelope === undefined ? undefined : toFields(mcpReq.envelope);
    const capabilities = toFields(envelope?.[envelopeKeys.capabilities] ?? client.capabilities);
    // Modern clients get log lines only if they ask for them.
    const isWanted = (method: string): boolean =>
      era === 'legacy' ||
      method !== 'notifications/message' ||
      envelope?.[envelopeKeys.logLevel] !== undefined;
    return {
      era,
      caller,
      client: toFields(envelope?.[envelopeKeys.client] ?? client.info),
      capabilities,
      sessionId,
      requestId: mcpReq.id,
      meta: toFields(mcpReq._meta),
      envelope: era === 'modern' ? envelope : undefined,
      headers: request === undefined ? undefined : paramHeaders(request.headers),
      inputResponses: mcpReq.inputResponses,
      requestState: mcpReq.requestState<string>(),
      // Over HTTP, a modern client cancels a request by closing its stream.
      signal: request === undefined ? cancellationOf(mcpReq.signal) : mcpReq.signal,
      notify: (notice) => {
        if (isWanted(notice.method)) void mcpReq.notify(toSdk(notice)).catch(() => undefined);
      },
      ask: async ({ method, params }) =>
        mcpReq.send({ method, ...(params !== undefined && { params: { ...params } }) }, anyResult, {
          timeout: askMs,
        }),
    };
  }
}

/** Aborted when the client cancels. A client that is gone has not cancelled: its call goes on. */
function cancellationOf(signal: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  const listen = (): void => {
    const { reason } = signal as { reason: unknown };
    if (!(reason instanceof SdkError) || reason.code !== SdkErrorCode.ConnectionClosed)
      cancelled.abort(reason);
  };
  signal.addEventListener('abort', listen, { once: true });
  return cancelled.signal;
}

const toRelayed = ({ method, params }: { method: string; params?: unknown }): RelayedRequest =>
  params === undefined ? { method } : { method, params: toFields(params) };

const toSdk = ({ method, params }: RelayedRequest): { method: string; params?: Record<string, unknown> } =>
  params === undefined ? { method } : { method, params: { ...params } };

/** Parameters that the client repeats in headers. The SDK has checked them. */
const paramHeaders = (headers: Headers): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('mcp-param-')));
