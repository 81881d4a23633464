/**
 * One server behind the gateway.
 *
 * 1. Its trouble is its own: while it is down, requests to it fail at once, and other servers are not affected.
 * 2. A server that fails again and again is started less and less often.
 * 3. A session of a legacy client has its own connection. Modern clients share one, or borrow a legacy one.
 */
import type { AuthProvider } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpNotSent } from '../tools/call-error.ts';
import { createServerFetch } from '../config/checked-fetch.ts';
import type { ServerEntry } from '../config/server-entry.ts';
import type { Connection, Exchange, OpenWire, ServerFacts, SessionHooks } from './connection.ts';
import { EraRefused, envelopeOf, LegacyConnection, ModernConnection, wantsLogs } from './connection.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { toFields } from './relayed-request.ts';
import { openTransport } from './open-transport.ts';
import { createUpstreamAuth } from './upstream-auth.ts';
import type { Speaker } from './server-words.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';
import { Wire } from './wire.ts';

export type UpstreamHost = {
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
export type UpstreamStatus = {
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
