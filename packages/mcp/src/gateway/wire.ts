/**
 * JSON-RPC to one server, over a transport of the SDK.
 *
 * 1. An answer counts once, and only for a request that still waits. A second answer is reported and dropped.
 *    An answer that JSON-RPC does not allow ends its request too.
 * 2. Progress reaches its request in order, and before the result.
 * 3. When the connection ends, every waiting request fails with `ConnectionLost`: it may have taken effect.
 * 4. Ids are unique in the gateway, so a retry never reuses one.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { safeText } from 'quittance/internal/base/safe-text';
import { isServerNotice } from './methods.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { toFields, isFields, rpcCodes } from './relayed-request.ts';
import type { Speaker } from './server-words.ts';
import {
  toClientError,
  toClientNotice,
  toClientProgress,
  toClientQuestion,
  toClientResultOf,
} from './server-words.ts';
import { isUnreadable, UnreadableMessage } from './unreadable-message.ts';

/** The server may have handled the request; its answer will not come. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  /** The cause is text only: its code is about the connection, and must not be read as one about the request. */
  constructor(server: string, cause?: unknown) {
    const why = cause instanceof Error ? ` (${cause.message})` : '';
    super(`The connection to the server "${server}" ended before it answered${why}.`);
  }
}

export type WireHooks = {
  /** A request of the server. The result, or the error with its code, is sent back. */
  readonly onRequest: (request: RelayedRequest) => Promise<Fields>;
  readonly onNotice: (notice: RelayedRequest) => void;
  readonly onClose: (cause: unknown) => void;
  /** Something that the protocol does not allow, e.g. a second answer. */
  readonly onOddity: (what: string) => void;
};

export type WireSend = {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Receives the progress of this request. The wire chooses the token. */
  readonly onProgress?: ((params: Fields) => void) | undefined;
  readonly timeoutMs?: number | undefined;
};

type Waiting = {
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: ((params: Fields) => void) | undefined;
};

export type WireOptions = {
  readonly speaker: Speaker;
  readonly nextId: () => number;
  readonly hooks: WireHooks;
  /** Closing the stream of a request cancels it; on other connections a notice with this metadata does. */
  readonly cancelBy: 'stream' | { readonly meta: Fields | undefined };
};

export class Wire {
  readonly #transport: Transport;
  readonly #options: WireOptions;
  readonly #waiting = new Map<number, Waiting>();
  #closed: { readonly cause: unknown } | undefined;
  #lastError: unknown;

  constructor(transport: Transport, options: WireOptions) {
    this.#transport = transport;
    this.#options = options;
    transport.onmessage = (message) => this.#receive(message);
    transport.onerror = (error) => this.#onError(error);
    transport.onclose = () => this.#end(this.#lastError);
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  start(): Promise<void> {
    return this.#transport.start();
  }

  useVersion(version: string): void {
    this.#transport.setProtocolVersion?.(version);
  }

  async request(request: RelayedRequest, send: WireSend = {}): Promise<Fields> {
    if (this.#closed !== undefined)
      throw new ConnectionLost(this.#options.speaker.server, this.#closed.cause);
    send.signal?.throwIfAborted();
    const id = this.#options.nextId();
    const stream = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<Fields>();
    this.#waiting.set(id, { resolve, reject, onProgress: send.onProgress });
    const cancel = (): void => {
      if (!this.#waiting.delete(id)) return;
      this.#sendCancel(id);
      stream.abort();
      reject(send.signal?.aborted === true ? send.signal.reason : new Error('No answer in time.'));
    };
    const timer = send.timeoutMs === undefined ? undefined : setTimeout(cancel, send.timeoutMs);
    send.signal?.addEventListener('abort', cancel, { once: true });
    const lose = (cause: unknown): void => {
      if (this.#waiting.delete(id)) reject(cause);
    };
    // Over HTTP, the SDK reads the answer. Its error lists every check that failed.
    const loseSent = (cause: unknown): void =>
      lose(isUnreadable(cause) ? new Error('The answer is not valid JSON-RPC.') : cause);
    // Not awaited: over HTTP, sending ends with the answer.
    this.#transport
      .send(
        { jsonrpc: '2.0', id, ...this.#withToken(request, send.onProgress === undefined ? undefined : id) },
        {
          requestSignal: stream.signal,
          onRequestStreamEnd: () => lose(new ConnectionLost(this.#options.speaker.server)),
          ...(send.headers !== undefined && { headers: send.headers }),
        },
      )
      .catch(loseSent);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      send.signal?.removeEventListener('abort', cancel);
    }
  }

  #sendCancel(requestId: number): void {
    const { cancelBy } = this.#options;
    if (cancelBy === 'stream') return;
    const params = { requestId, ...(cancelBy.meta !== undefined && { _meta: cancelBy.meta }) };
    void this.notify({ method: 'notifications/cancelled', params }).catch(() => undefined);
  }

  /** The client's progress token is replaced by the id: tokens of several clients may be equal. */
  #withToken({ method, params }: RelayedRequest, token: number | undefined): RelayedRequest {
    const { progressToken: _, ...meta } = toFields(params?.['_meta']);
    const all = token === undefined ? meta : { ...meta, progressToken: token };
    const { _meta, ...rest } = params ?? {};
    const kept = Object.keys(all).length === 0 ? rest : { ...rest, _meta: all };
    return params === undefined && Object.keys(kept).length === 0 ? { method } : { method, params: kept };
  }

  async notify({ method, params }: RelayedRequest): Promise<void> {
    if (this.#closed !== undefined) return;
    await this.#transport.send({ jsonrpc: '2.0', method, ...(params !== undefined && { params }) });
  }

  async close(): Promise<void> {
    await this.#transport.close().catch(() => undefined);
    this.#end(undefined);
  }

  #end(cause: unknown): void {
    if (this.#closed !== undefined) return;
    this.#closed = { cause };
    for (const { reject } of this.#waiting.values())
      reject(new ConnectionLost(this.#options.speaker.server, cause));
    this.#waiting.clear();
    this.#options.hooks.onClose(cause);
  }

  /** A message that cannot be read does not end the connection, and is not why it ends later. */
  #onError(error: unknown): void {
    if (!isUnreadable(error)) {
      this.#lastError = error;
      return;
    }
    this.#options.hooks.onOddity('It sent a message that is not valid JSON-RPC.');
    if (error instanceof UnreadableMessage && error.answer !== undefined) this.#receive(error.answer);
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message) {
      const request: RelayedRequest = {
        method: message.method,
        ...(isFields(message.params) && { params: message.params }),
      };
      if ('id' in message) void this.#answer(message.id, request);
      else this.#notice(request);
      return;
    }
    // Some servers answer with the id as text. The clients of the SDK accept that.
    const id = Number(message.id);
    const waiting = String(message.id) === String(id) ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) {
      this.#options.hooks.onOddity('It answered a request that was not waiting.');
      return;
    }
    this.#waiting.delete(id);
    try {
      if ('error' in message) throw toClientError(message.error, this.#options.speaker);
      waiting.resolve(toClientResultOf(toFields(message.result), this.#options.speaker));
    } catch (error) {
      waiting.reject(error);
    }
  }

  #notice(notice: RelayedRequest): void {
    if (!isServerNotice(notice.method)) {
      this.#options.hooks.onOddity(`It sent the notice ${quoteName(notice.method)}, which does not pass.`);
      return;
    }
    if (notice.method !== 'notifications/progress')
      return this.#options.hooks.onNotice(toClientNotice(notice, this.#options.speaker));
    const token = notice.params?.['progressToken'];
    const waiting = typeof token === 'number' ? this.#waiting.get(token) : undefined;
    // Progress of a request that has ended belongs to no client.
    waiting?.onProgress?.(toClientProgress(notice.params ?? {}, this.#options.speaker));
  }

  async #answer(id: number | string, request: RelayedRequest): Promise<void> {
    const { hooks, speaker } = this.#options;
    const asked = async (): Promise<Fields> => hooks.onRequest(toClientQuestion(request, speaker));
    const answer = await asked().then(
      (result): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: { ...result } }),
      (error: unknown): JSONRPCMessage => ({ jsonrpc: '2.0', id, error: toRpcError(error) }),
    );
    await this.#transport.send(answer).catch(() => undefined);
  }
}

/** The other side wrote the name, so it is one short line. */
export const quoteName = (method: string): string => JSON.stringify(safeText(method).slice(0, 100));

export function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, data } = toFields(error);
  return {
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : rpcCodes.internal,
    message: error instanceof Error ? error.message : 'The request failed.',
    ...(data !== undefined && { data }),
  };
}
