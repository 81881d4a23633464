/**
 * Connections to one server. A legacy connection is a session: its notices and questions carry no id of a call, so it
 * serves one client at a time. A modern server has no sessions. Over HTTP each request has its own stream. Over stdio
 * one process serves all requests, because the state that it hands out ends with it.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { McpNotSent } from '../tools/call-error.ts';
import { mayAsk } from './methods.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { envelopeKeys, toFields, legacyVersion, modernVersion, rpcCodes, textOf } from './relayed-request.ts';
import type { Wire, WireHooks } from './wire.ts';

/** What a server says about itself. */
export type ServerFacts = {
  readonly info: Fields;
  readonly capabilities: Fields;
  readonly instructions: string | undefined;
};

/** One request of a client while the gateway relays it. */
export type Exchange = {
  readonly signal: AbortSignal | undefined;
  /** Capabilities of the client that made the request. */
  readonly capabilities: Fields;
  /** Envelope of a modern client, to be passed on to a modern server. */
  readonly envelope: Fields | undefined;
  /** `Mcp-Param-*` headers. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly onProgress: ((params: Fields) => void) | undefined;
  /** A notice that belongs to this request, e.g. a log line. */
  readonly onNotice: (notice: RelayedRequest) => void;
  /** A question of the server to the client, while this request runs. */
  readonly ask: (request: RelayedRequest) => Promise<Fields>;
};

export interface Connection {
  readonly era: Era;
  /** The server has ended the session, probably because it was started again. */
  readonly isForgotten?: boolean;
  /** The gateway itself ended it. */
  readonly isGivenUp: boolean;
  readonly facts: ServerFacts;
  readonly isOpen: boolean;
  send(request: RelayedRequest, exchange: Exchange): Promise<Fields>;
  notify(notice: RelayedRequest): Promise<void>;
  close(): Promise<void>;
}

/** Makes a wire with these hooks. It is started, and no message was sent. */
export type OpenWire = (
  era: Era,
  hooks: Pick<WireHooks, 'onRequest' | 'onNotice'>,
  onClose: (cause: unknown) => void,
) => Promise<Wire>;

/** The server does not speak this version of the protocol. */
export class EraRefused extends Error {}

/** How long a server may take to start and to answer the first message. */
const handshakeMs = 60_000;
/** A legacy server may never answer a request before the handshake. */
const probeMs = 15_000;

export type SessionHooks = {
  /** What belongs to no request in flight: list changes, log lines, questions of the server. */
  readonly onNotice: (notice: RelayedRequest) => void;
  readonly ask: (request: RelayedRequest) => Promise<Fields>;
  readonly onClose: (connection: Connection, cause: unknown) => void;
};

export class LegacyConnection implements Connection {
  readonly era = 'legacy';
  readonly facts: ServerFacts;
  readonly #wire: Wire;
  readonly #inFlight: Set<Exchange>;
  isGivenUp = false;
  isForgotten = false;
  #isReleased = false;

  private constructor(wire: Wire, facts: ServerFacts, inFlight: Set<Exchange>) {
    this.#wire = wire;
    this.facts = facts;
    this.#inFlight = inFlight;
  }

  /**
   * Opens a session for a client with these capabilities. Questions and notices of the server name no request. They are
   * about the latest one. If several clients share the connection, they are about the only one, or about none.
   */
  static async open(
    openWire: OpenWire,
    client: { readonly info: Fields; readonly capabilities: Fields; readonly isShared?: boolean },
    hooks: SessionHooks,
  ): Promise<LegacyConnection> {
    const inFlight = new Set<Exchange>();
    let opened: LegacyConnection | undefined;
    const latest = (): Exchange | undefined =>
      client.isShared === true && inFlight.size > 1 ? undefined : [...inFlight].at(-1);
    const wire = await openWire(
      'legacy',
      {
        onRequest: (request) => {
          if (request.method === 'ping') return Promise.resolve({});
          if (!mayAsk(request.method, client.capabilities)) return refuseRequest();
          return latest()?.ask(request) ?? hooks.ask(request);
        },
        onNotice: (notice) => {
          const exchange = isAboutLists(notice.method) ? undefined : latest();
          if (exchange === undefined) hooks.onNotice(notice);
          else exchange.onNotice(notice);
        },
      },
      (cause) => {
        if (opened !== undefined) hooks.onClose(opened, cause);
      },
    );
    try {
      const { info: clientInfo, capabilities } = client;
      const params = { protocolVersion: legacyVersion, capabilities, clientInfo };
      const said = await wire.request({ method: 'initialize', params }, { timeoutMs: handshakeMs });
      wire.useVersion(textOf(said['protocolVersion']) ?? legacyVersion);
      await wire.notify({ method: 'notifications/initialized' });
      opened = new LegacyConnection(wire, readFacts(said), inFlight);
      return opened;
    } catch (error) {
      await wire.close();
      throw isEraProblem(error) ? new EraRefused('legacy', { cause: error }) : error;
    }
  }

  get isOpen(): boolean {
    return this.#wire.isOpen;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  async send(request: RelayedRequest, exchange: Exchange): Promise<Fields> {
    if (!this.isOpen) throw new McpNotSent('The connection to the server has ended.');
    this.#inFlight.add(exchange);
    try {
      const result = await this.#wire.request(request, {
        signal: exchange.signal,
        onProgress: exchange.onProgress,
      });
      requireAskable(result, exchange);
      return result;
    } catch (error) {
      // The server has forgotten the session. It said so before it handled the request.
      if (statusOf(error) === 404) {
        this.isForgotten = true;
        await this.close();
        throw new McpNotSent('The server has ended the session.', { cause: error });
      }
      throw error;
    } finally {
      this.#inFlight.delete(exchange);
      if (this.#isReleased && this.isIdle) await this.close();
    }
  }

  notify(notice: RelayedRequest): Promise<void> {
    return this.#wire.notify(notice);
  }

  close(): Promise<void> {
    this.isGivenUp = true;
    return this.#wire.close();
  }

  /** Its client is gone. It closes after the requests in flight, because their calls go on. */
  async release(): Promise<void> {
    this.#isReleased = true;
    if (this.isIdle) await this.close();
  }
}

export class ModernConnection implements Connection {
  readonly era = 'modern';
  readonly facts: ServerFacts;
  readonly #client: Fields;
  readonly #shared: Wire | undefined;
  readonly #openWire: OpenWire;
  readonly #inFlight: Set<Exchange>;
  isGivenUp = false;

  private constructor(
    client: Fields,
    facts: ServerFacts,
    shared: Wire | undefined,
    openWire: OpenWire,
    inFlight: Set<Exchange>,
  ) {
    this.#client = client;
    this.facts = facts;
    this.#shared = shared;
    this.#openWire = openWire;
    this.#inFlight = inFlight;
  }

  /** Throws `EraRefused` if the server speaks only the legacy protocol. */
  static async open(
    openWire: OpenWire,
    client: Fields,
    isShared: boolean,
    hooks: SessionHooks,
  ): Promise<ModernConnection> {
    const inFlight = new Set<Exchange>();
    let opened: ModernConnection | undefined;
    const wire = await openWire(
      'modern',
      {
        onRequest: refuseRequest,
        onNotice: (notice) => {
          const exchange = isAboutLists(notice.method) ? undefined : onlyOne(inFlight, notice.method);
          if (exchange === undefined) hooks.onNotice(notice);
          else exchange.onNotice(notice);
        },
      },
      (cause) => {
        if (opened !== undefined && isShared) hooks.onClose(opened, cause);
      },
    );
    try {
      const params = { _meta: envelopeOf(client, {}) };
      const said = await wire.request(
        { method: 'server/discover', params },
        { timeoutMs: isShared ? probeMs : handshakeMs },
      );
      opened = new ModernConnection(client, readFacts(said), isShared ? wire : undefined, openWire, inFlight);
      if (!isShared) await wire.close();
      return opened;
    } catch (error) {
      await wire.close();
      // Over HTTP silence means an outage. On a pipe, a server that ends or stays silent is a legacy server.
      throw isShared || isEraProblem(error) ? new EraRefused('modern', { cause: error }) : error;
    }
  }

  get isOpen(): boolean {
    return this.#shared?.isOpen ?? true;
  }

  async send({ method, params }: RelayedRequest, exchange: Exchange): Promise<Fields> {
    if (!this.isOpen) throw new McpNotSent('The connection to the server has ended.');
    const envelope = { ...envelopeOf(this.#client, exchange.capabilities), ...exchange.envelope };
    const request = { method, params: { ...params, _meta: { ...toFields(params?.['_meta']), ...envelope } } };
    const own =
      this.#shared === undefined
        ? await this.#openWire(
            'modern',
            { onRequest: refuseRequest, onNotice: exchange.onNotice },
            () => undefined,
          )
        : undefined;
    this.#inFlight.add(exchange);
    try {
      const result = await (own ?? this.#shared)!.request(request, {
        signal: exchange.signal,
        headers: exchange.headers,
        onProgress: exchange.onProgress,
      });
      requireAskable(result, exchange);
      return result;
    } finally {
      this.#inFlight.delete(exchange);
      await own?.close();
    }
  }

  /** The modern protocol has no notices of clients to a server, except cancellation. */
  async notify(): Promise<void> {
    await Promise.resolve();
  }

  async close(): Promise<void> {
    this.isGivenUp = true;
    await this.#shared?.close();
  }
}

/** Throws if a result, or a task, has questions that the client did not say it can be asked. */
function requireAskable({ resultType, status, inputRequests }: Fields, { capabilities }: Exchange): void {
  if (resultType !== 'input_required' && status !== 'input_required') return;
  for (const { method } of Object.values(toFields(inputRequests)).map(toFields))
    if (!mayAsk(String(method), capabilities))
      throw new Error(
        `The server asks for ${String(method).slice(0, 100)}, which the client does not support.`,
      );
}

/** The request that a notice is about, if only one can be meant. A server logs for requests that ask for log lines. */
function onlyOne(inFlight: ReadonlySet<Exchange>, method: string): Exchange | undefined {
  const meant = [...inFlight].filter((each) => method !== 'notifications/message' || wantsLogs(each));
  return meant.length === 1 ? meant[0] : undefined;
}

export const wantsLogs = ({ envelope }: Exchange): boolean => envelope?.[envelopeKeys.logLevel] !== undefined;

const refuseRequest = (): Promise<Fields> =>
  Promise.reject(new ProtocolError(rpcCodes.methodNotFound, 'Method not found'));

export const envelopeOf = (client: Fields, capabilities: Fields): Fields => ({
  [envelopeKeys.version]: modernVersion,
  [envelopeKeys.client]: client,
  [envelopeKeys.capabilities]: capabilities,
});

const readFacts = (said: Fields): ServerFacts => ({
  info: toFields(said['serverInfo'] ?? toFields(said['_meta'])['io.modelcontextprotocol/serverInfo']),
  capabilities: toFields(said['capabilities']),
  instructions: textOf(said['instructions']),
});

/** Changes of lists and resources concern the session, not the request in flight. */
export const isAboutLists = (method: string): boolean => /\/list_changed$|resources\/updated$/.test(method);

const statusOf = (error: unknown): unknown =>
  toFields(toFields(error)['data'])['status'] ?? toFields(error)['status'];

/** Refused because of the version, by any of the ways in which servers say so. */
function isEraProblem(error: unknown): boolean {
  if (error instanceof ProtocolError) return true;
  const status = statusOf(error);
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 401 && status !== 403;
}
