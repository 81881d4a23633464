/**
 * One server behind the gateway.
 *
 * 1. Its trouble is its own: while it is down, requests to it fail at once, and other servers are not affected.
 * 2. A server that fails again and again is started less and less often.
 * 3. A session of a legacy client has its own connection. Modern clients share one, or borrow a legacy one.
 */
import type { AuthProvider, Transport } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpNotSent } from '../tools/call-error.ts';
import { createServerFetch } from '../config/checked-fetch.ts';
import type {
  ServerEntry,
  HttpAddress,
  OAuthSetting,
} from '@quittance/server/internal/mcp-reviews/server-entry';
import type { Connection, Exchange, OpenWire, ServerFacts, SessionHooks } from './connection.ts';
import { EraRefused, envelopeOf, LegacyConnection, ModernConnection, wantsLogs } from './connection.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { toFields } from './relayed-request.ts';
import type { Speaker } from './server-words.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';
import { Wire } from './wire.ts';
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  auth,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mostMessageBytes, useLineBuffer } from './line-buffer.ts';
import { OAuthClient, renewalOnly } from './auth-client.ts';
import { createOAuthFetch, ownMetadataUrl } from './oauth-fetch.ts';

type UpstreamHost = {
  readonly me: Fields;
  readonly nextId: () => number;
  readonly now: () => number;
  readonly signIns: UpstreamTokens | undefined;
  readonly speaks: Omit<Speaker, 'server'>;
  /** A line for the operator: what the server wrote, or what happened to it. */
  readonly log: (server: string, line: string) => void;
  /** A notice of the shared connection: lists or resources have changed. */
  readonly onNotice: (upstream: Upstream, notice: RelayedRequest) => void;
};

/** The state of a server, for people. */
type UpstreamStatus = {
  readonly server: string;
  readonly status: 'idle' | 'starting' | 'ready' | 'failed';
  readonly era: Era | undefined;
  readonly connections: number;
  readonly failures: number;
  readonly restarts: number;
  readonly lastError: string | undefined;
  /** When the next start may be tried, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  readonly oddities: number;
};

const mostDelayMs = 60_000;
/** After one lost connection the server starts at once. Each further one doubles the wait. */
const delayAfter = (failures: number): number =>
  failures <= 1 ? 0 : Math.min(mostDelayMs, 250 * 2 ** failures);
/** A connection that lasted this long was healthy. */
const healthyMs = 60_000;
/** More resources are not watched for modern clients. */
const mostWatched = 1_000;
/** Modern clients borrow at most this many connections to a legacy server. */
const mostBorrowed = 8;

const noSession: SessionHooks = {
  onNotice: () => undefined,
  ask: () => Promise.reject(new Error('No client is connected that could answer.')),
  onClose: () => undefined,
};

export class Upstream {
  readonly entry: ServerEntry;
  readonly #host: UpstreamHost;
  readonly #fetch: typeof fetch;
  readonly #auth: AuthProvider | undefined;
  readonly #open = new Map<Connection, number>();
  /** Every connection of a transport, also those that are being opened. */
  readonly #wires = new Set<Wire>();
  #shared: Promise<Connection> | undefined;
  /** Only known after the server was asked. */
  #speaksModern: boolean | undefined;
  readonly #borrowable = new Map<string, LegacyConnection[]>();
  readonly #borrowed = new Set<Connection>();
  readonly #queue: (() => void)[] = [];
  readonly #facts = new Map<Era, ServerFacts>();
  #state = { starting: 0, failures: 0, restarts: 0, oddities: 0, retryAt: 0 };
  #lastError: string | undefined;
  #losses = 0;
  readonly #watched = new Set<string>();
  readonly #ending = new AbortController();
  #closed = false;

  constructor(entry: ServerEntry, host: UpstreamHost) {
    this.entry = entry;
    this.#host = host;
    this.#fetch = entry.type === 'stdio' ? fetch : createServerFetch(entry);
    this.#auth = authFor(entry, host);
  }

  get name(): string {
    return this.entry.name;
  }

  /** What the server said about itself last, in this era of the protocol if it speaks it. */
  factsFor(era: Era): ServerFacts | undefined {
    return this.#facts.get(era) ?? this.#facts.get(era === 'legacy' ? 'modern' : 'legacy');
  }

  /** Does the server have this capability, as far as is known? */
  can(capability: string): boolean {
    return [...this.#facts.values()].some(({ capabilities }) => capabilities[capability] !== undefined);
  }

  /** How many connections the server has ended. After each, it may be another program. */
  get losses(): number {
    return this.#losses;
  }

  get isKnown(): boolean {
    return this.#facts.size > 0;
  }

  status(): UpstreamStatus {
    const { starting, failures, restarts, oddities, retryAt } = this.#state;
    const [connection] = this.#open.keys();
    return {
      server: this.name,
      status:
        connection !== undefined ? 'ready' : starting > 0 ? 'starting' : failures > 0 ? 'failed' : 'idle',
      era: connection?.era,
      connections: this.#open.size,
      failures,
      restarts,
      lastError: this.#lastError,
      retryAt: retryAt > this.#host.now() ? retryAt : undefined,
      oddities,
    };
  }

  /** A connection of its own for the session of a legacy client. Falls back to the shared one. */
  async openSession(
    client: { readonly info: Fields; readonly capabilities: Fields },
    hooks: SessionHooks,
  ): Promise<Connection> {
    try {
      return await this.#start(() => LegacyConnection.open(this.#openWire, client, this.#counted(hooks)));
    } catch (error) {
      if (!(error instanceof EraRefused)) throw error;
      return this.shared();
    }
  }

  /** The connection that no client owns: for modern clients, lists, and calls whose client is gone. */
  async shared(): Promise<Connection> {
    const running = await this.#shared?.catch(() => undefined);
    if (running?.isOpen === true) return running;
    this.#shared = this.#start(() => this.#openShared());
    return this.#shared;
  }

  /** Sends a request of a modern client, or of none. */
  async send(request: RelayedRequest, exchange: Exchange): Promise<Fields> {
    const shared = await this.shared();
    if (shared.era === 'modern') return shared.send(request, exchange);
    // A legacy server asks and logs without an id. A client that can be asked, or wants log lines, needs a connection.
    if (Object.keys(exchange.capabilities).length === 0 && !wantsLogs(exchange))
      return shared.send(request, exchange);
    const borrowed = await this.#borrow(exchange.capabilities);
    try {
      return await borrowed.send(request, exchange);
    } finally {
      this.#giveBack(exchange.capabilities, borrowed);
    }
  }

  /** Asks the server to report changes of a resource, for clients that do not own a connection. */
  async watch(uri: string): Promise<void> {
    if (this.#watched.has(uri) || this.#watched.size >= mostWatched) return;
    this.#watched.add(uri);
    const shared = await this.shared();
    if (shared.era === 'legacy')
      await shared.send({ method: 'resources/subscribe', params: { uri } }, this.#noClient);
    else void this.#listen(shared, { resourceSubscriptions: [uri] });
  }

  /** Keeps a stream of changes open while the connection lasts. */
  async #listen(connection: Connection, notifications: Fields): Promise<void> {
    let delayMs = 1_000;
    while (connection.isOpen && !this.#closed) {
      const startedAt = this.#host.now();
      await connection
        .send({ method: 'subscriptions/listen', params: { notifications } }, this.#noClient)
        .catch(() => undefined);
      delayMs = this.#host.now() - startedAt > healthyMs ? 1_000 : Math.min(mostDelayMs, delayMs * 2);
      await sleep(delayMs, undefined, { ref: false });
    }
  }

  /** For requests of the gateway itself. */
  get #noClient(): Exchange {
    return {
      signal: this.#ending.signal,
      capabilities: {},
      envelope: undefined,
      headers: undefined,
      onProgress: undefined,
      onNotice: (notice) => this.#onSharedNotice(notice),
      ask: noSession.ask,
    };
  }

  #onSharedNotice({ method, params }: RelayedRequest): void {
    if (!/\/list_changed$|resources\/updated$/.test(method)) return;
    const { _meta, ...rest } = params ?? {};
    this.#host.onNotice(this, { method, params: rest });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ending.abort();
    await Promise.allSettled([...this.#open.keys()].map((connection) => connection.close()));
    // Those that still wait for the first answer of the server.
    await Promise.allSettled([...this.#wires].map((wire) => wire.close()));
  }

  async #openShared(): Promise<Connection> {
    const hooks = this.#counted({ ...noSession, onNotice: (notice) => this.#onSharedNotice(notice) });
    if (this.#speaksModern !== false) {
      try {
        const isShared = this.entry.type === 'stdio';
        const modern = await ModernConnection.open(this.#openWire, this.#host.me, isShared, hooks);
        this.#speaksModern = true;
        const { tools, prompts, resources } = modern.facts.capabilities;
        const changes = {
          ...(toFields(tools)['listChanged'] === true && { toolsListChanged: true }),
          ...(toFields(prompts)['listChanged'] === true && { promptsListChanged: true }),
          ...(toFields(resources)['listChanged'] === true && { resourcesListChanged: true }),
        };
        if (Object.keys(changes).length > 0) void this.#listen(modern, changes);
        return modern;
      } catch (error) {
        if (!(error instanceof EraRefused)) throw error;
      }
    }
    const legacy = await LegacyConnection.open(
      this.#openWire,
      { info: this.#host.me, capabilities: {}, isShared: true },
      hooks,
    );
    this.#speaksModern = false;
    return legacy;
  }

  async #borrow(capabilities: Fields): Promise<LegacyConnection> {
    const key = JSON.stringify(capabilities);
    for (;;) {
      const idle = this.#borrowable.get(key)?.pop();
      if (idle?.isOpen === true) return idle;
      if (idle === undefined) break;
    }
    if (this.#borrowed.size >= mostBorrowed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#queue.push(resolve);
      await promise;
      return this.#borrow(capabilities);
    }
    const onClose = (connection: Connection): void => void this.#borrowed.delete(connection);
    const client = { info: this.#host.me, capabilities };
    const opened = await this.#start(() =>
      LegacyConnection.open(this.#openWire, client, this.#counted({ ...noSession, onClose })),
    );
    this.#borrowed.add(opened);
    return opened;
  }

  #giveBack(capabilities: Fields, borrowed: LegacyConnection): void {
    const key = JSON.stringify(capabilities);
    if (borrowed.isOpen) this.#borrowable.set(key, [...(this.#borrowable.get(key) ?? []), borrowed]);
    const next = this.#queue.shift();
    if (next === undefined) return;
    // The next client may have other capabilities. If so, an idle connection makes room for its own.
    if (this.#borrowed.size >= mostBorrowed) void this.#dropIdle().finally(next);
    else next();
  }

  async #dropIdle(): Promise<void> {
    for (const idle of this.#borrowable.values()) {
      const connection = idle.shift();
      if (connection !== undefined) return connection.close();
    }
  }

  /** Opens a connection unless the server is waiting for its next start. */
  async #start<Opened extends Connection>(open: () => Promise<Opened>): Promise<Opened> {
    if (this.#closed) throw new McpNotSent('The gateway is closing.');
    const waitMs = this.#state.retryAt - this.#host.now();
    if (waitMs > 0)
      throw new McpNotSent(
        `The server "${this.name}" is not running. It is started again in ${Math.ceil(waitMs / 1_000)} s.`,
      );
    this.#state.starting += 1;
    try {
      const opened = await open();
      this.#facts.set(opened.era, opened.facts);
      this.#open.set(opened, this.#host.now());
      if (this.#state.failures > 0) this.#state.restarts += 1;
      return opened;
    } catch (error) {
      if (!(error instanceof EraRefused)) this.#failed(error);
      if (error instanceof EraRefused || error instanceof McpNotSent) throw error;
      throw new McpNotSent(`The server "${this.name}" could not be started: ${wordsOf(error)}`, {
        cause: error,
      });
    } finally {
      this.#state.starting -= 1;
    }
  }

  /** Counts lost connections. */
  #counted(hooks: SessionHooks): SessionHooks {
    return {
      ...hooks,
      onClose: (connection, cause) => {
        const since = this.#open.get(connection);
        this.#open.delete(connection);
        const isLost = !connection.isGivenUp || connection.isForgotten === true;
        if (!this.#closed && since !== undefined && isLost) this.#losses += 1;
        if (!this.#closed && !connection.isGivenUp && since !== undefined) {
          if (this.#host.now() - since > healthyMs) this.#state.failures = 0;
          this.#failed(new Error('The connection ended.', { cause }));
        }
        hooks.onClose(connection, cause);
      },
    };
  }

  #failed(error: unknown): void {
    this.#state.failures += 1;
    this.#state.retryAt = this.#host.now() + delayAfter(this.#state.failures);
    this.#lastError = wordsOf(error);
    this.#host.log(this.name, this.#lastError);
  }

  readonly #openWire: OpenWire = async (era, hooks, onClose) => {
    if (this.#closed) throw new McpNotSent('The gateway is closing.');
    const { entry } = this;
    const transport = openTransport(entry, {
      auth: this.#auth,
      fetch: this.#fetch,
      onLogLine: (line) => this.#host.log(entry.name, line),
    });
    const byStream = era === 'modern' && entry.type === 'http';
    const wire = new Wire(transport, {
      speaker: { server: entry.name, ...this.#host.speaks },
      nextId: this.#host.nextId,
      cancelBy: byStream ? 'stream' : { meta: era === 'modern' ? envelopeOf(this.#host.me, {}) : undefined },
      hooks: {
        ...hooks,
        onClose: (cause) => {
          this.#wires.delete(wire);
          onClose(cause);
        },
        onOddity: (what) => {
          this.#state.oddities += 1;
          this.#host.log(entry.name, what);
        },
      },
    });
    this.#wires.add(wire);
    try {
      await wire.start();
    } catch (error) {
      this.#wires.delete(wire);
      throw error;
    }
    return wire;
  };
}

const wordsOf = (error: unknown): string => {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  const own = error instanceof Error ? error.message : String(error);
  return cause instanceof Error && !own.includes(cause.message) ? `${own} (${cause.message})` : own;
};

/** A server that gets a header with credentials is not signed in at. */
function authFor(entry: ServerEntry, { signIns, now }: UpstreamHost): AuthProvider | undefined {
  if (entry.type === 'stdio' || signIns === undefined) return undefined;
  const hasCredentials = Object.keys(entry.headers).some((name) => name.toLowerCase() === 'authorization');
  if (hasCredentials) return undefined;
  return createUpstreamAuth({
    server: entry.name,
    address: entry,
    setting: entry.oauth,
    store: signIns,
    now,
  });
}

/**
 * A new connection to a server: its process, or its address. A process gets the environment that its entry names, and
 * the few variables that every program needs, such as PATH.
 */
export function openTransport(
  entry: ServerEntry,
  {
    fetch,
    auth,
    onLogLine,
  }: {
    readonly fetch: typeof globalThis.fetch;
    readonly auth: AuthProvider | undefined;
    readonly onLogLine: (line: string) => void;
  },
): Transport {
  switch (entry.type) {
    case 'stdio': {
      const transport = new StdioClientTransport({
        command: entry.command,
        args: [...entry.args],
        env: { ...entry.env },
        stderr: 'pipe',
        maxBufferSize: mostMessageBytes,
        ...(entry.cwd !== undefined && { cwd: entry.cwd }),
      });
      useLineBuffer(transport, mostMessageBytes);
      transport.stderr?.on('data', (chunk: unknown) => {
        for (const line of String(chunk).split('\n')) if (line.trim() !== '') onLogLine(line);
      });
      return transport;
    }
    case 'http':
      return new StreamableHTTPClientTransport(entry.url, {
        requestInit: { headers: { ...entry.headers } },
        fetch: (url, init) => boundedFetch(fetch, url, init),
        ...(auth !== undefined && { authProvider: auth }),
      });
    case 'sse':
      return new SSEClientTransport(entry.url, {
        requestInit: { headers: { ...entry.headers } },
        fetch: (url, init) => boundedFetch(fetch, url, init),
        ...(auth !== undefined && { authProvider: auth }),
      });
  }
}

/**
 * Ends a response that is too long. A stream that is opened for a session lasts as long as the session, so there each
 * event has the limit.
 */
async function boundedFetch(
  fetch: typeof globalThis.fetch,
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  let read = 0;
  const lasts = (init?.method ?? 'GET') === 'GET';
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const lastEnd = lasts ? endOfEvents(chunk) : -1;
        read = lastEnd === -1 ? read + chunk.byteLength : chunk.byteLength - lastEnd;
        if (read > mostMessageBytes)
          controller.error(new Error(`The answer is longer than ${mostMessageBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

/** The end of the last event in the chunk. -1 if none ends in it. */
function endOfEvents(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const end = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'));
  return end === -1 ? -1 : end + 2;
}

/**
 * Access tokens for requests to one MCP server.
 *
 * 1. A token is renewed when the server refuses it, once for all requests that wait.
 * 2. The gateway does not ask a person to sign in. The error says what to type.
 * 3. Requests to the issuer carry none of the headers that the configuration has for the server.
 * 4. Nothing is fetched before a person has signed in, unless the configuration has the gateway sign in for itself.
 */

type UpstreamAuthOptions = {
  readonly server: string;
  readonly address: HttpAddress;
  readonly setting: OAuthSetting | undefined;
  readonly store: UpstreamTokens;
  readonly now: () => number;
};

/** Requests that were under way with the old token are refused after the new one is there. */
const justNowMs = 2_000;

function createUpstreamAuth(options: UpstreamAuthOptions): AuthProvider {
  const { address, store, now } = options;
  let renewing: Promise<void> | undefined;
  return {
    token: () => Promise.resolve(store.read(address.url).tokens?.access_token),
    async onUnauthorized({ response }) {
      const { at, tokens } = store.read(address.url);
      if (tokens !== undefined && at !== undefined && now() - at < justNowMs && now() >= at) return;
      renewing ??= renew(options, response).finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
  };
}

async function renew(
  { server, address, setting, store, now }: UpstreamAuthOptions,
  response: Response,
): Promise<void> {
  const { url } = address;
  const isForItself = setting?.grant === 'client_credentials';
  const signIn = `Sign in: quittance mcp login ${server}`;
  if (!isForItself && store.read(url).tokens === undefined)
    throw new McpNotSent(`The server "${server}" wants a sign-in. ${signIn}`);
  const client = new OAuthClient({
    url,
    store,
    setting,
    now,
    redirectUrl: isForItself ? undefined : renewalOnly,
    onRedirect: () => {
      throw new McpNotSent(`The sign-in at the server "${server}" has ended. ${signIn}`);
    },
  });
  const { resourceMetadataUrl: named, scope: wanted } = extractWWWAuthenticateParams(response);
  const resourceMetadataUrl = ownMetadataUrl(named, address);
  const scope = setting?.scope ?? wanted;
  try {
    await auth(client, {
      serverUrl: url,
      fetchFn: createOAuthFetch({ address, setting, mayRegister: false }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    });
  } catch (error) {
    if (error instanceof McpNotSent) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new McpNotSent(`The token for the server "${server}" could not be renewed: ${why} ${signIn}`, {
      cause: error,
    });
  }
}
