/** The sockets: a Node server that limits how long it waits for clients. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { QuittanceError } from 'quittance/internal/base/error';
import type { App } from './app.ts';
import { HttpRefusal, problemResponse, toProblem } from './problem.ts';
import type { ProxyHeader, ReadAddress } from './read-address.ts';
import { limitKey } from './read-address.ts';
import { addSafeHeaders, safeHeaders } from './safe-headers.ts';

type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly timeouts: ListenTimeouts;
  readonly mostConnections: number;
  /** From one address, trusted proxies excepted. */
  readonly mostPerAddress: number;
  readonly readAddress: ReadAddress;
  readonly isProxy: (address: string) => boolean;
  readonly proxyHeader: ProxyHeader;
  /** How long a client may leave its answer unread. */
  readonly stallMs: number;
};

/** In milliseconds. */
export type ListenTimeouts = {
  /** For the head of a request. A slower client is cut off. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
};

type Listening = {
  readonly port: number;
  /** Accepts no more requests, lets open ones finish, and cuts off the rest after a moment. */
  readonly close: () => Promise<void>;
};

const mostHeaderBytes = 16_384;
const graceMs = 5_000;
const sweepMs = 20;

export async function listen(app: App, options: ListenOptions): Promise<Listening> {
  const { host, port, timeouts, mostConnections, stallMs } = options;
  const listener = createListener(app, options);
  /** Connections without a request so far. Clients keep them in reserve, and Node does not count them as idle. */
  const silent = new Set<Socket>();
  /** The open answers of each connection. */
  const answers = new WeakMap<Duplex, Set<ServerResponse>>();
  const server: Server = createServer(
    {
      maxHeaderSize: mostHeaderBytes,
      requireHostHeader: false, // the app refuses it, as it refuses everything else
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    },
    (incoming, outgoing) => {
      silent.delete(incoming.socket);
      const open = answers.get(incoming.socket) ?? new Set();
      answers.set(incoming.socket, open.add(outgoing));
      outgoing.once('close', () => open.delete(outgoing));
      outgoing.once('finish', () => endUnread(incoming));
      void listener(incoming, outgoing);
    },
  );
  server.on('clientError', (error, socket) => {
    const begun = [...(answers.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    refuseSocket(error, socket, begun);
  });
  // An unknown expectation is ignored: the client gets its answer without it.
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing));
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  limitPerAddress(server, options);
  server.timeout = stallMs;
  server.on('timeout', (socket: Socket) => {
    const isAnswering = (answers.get(socket)?.size ?? 0) > 0;
    // A client may wait long for an answer. It is cut off if it does not read its answer or requests nothing.
    if (isAnswering && socket.writableLength === 0) socket.setTimeout(stallMs);
    else socket.destroy();
  });
  server.maxConnections = mostConnections;
  server.maxHeadersCount = 100;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(toRefusal(error, host, port)));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port, not on a path
    close: () => closeServer(server, silent),
  };
}

function createListener(
  app: App,
  { readAddress, proxyHeader }: ListenOptions,
): ReturnType<typeof getRequestListener> {
  return getRequestListener(
    (request, env) => {
      const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse }; // the server speaks HTTP/1 only
      if (isForAnother(incoming))
        throw new HttpRefusal(
          'http.wrong_host',
          'The address of the request names another server than Host.',
        );
      return app(request, {
        address: limitKey(
          readAddress(incoming.socket.remoteAddress ?? '', incoming.headers[proxyHeader]?.toString()),
        ),
        cut: () => outgoing.destroy(),
      });
    },
    {
      overrideGlobalObjects: false,
      // The app refuses requests itself. This handles input that cannot be parsed as a request.
      errorHandler: (error) =>
        addSafeHeaders(
          problemResponse(
            error instanceof HttpRefusal
              ? error
              : new HttpRefusal('http.bad_request', 'The address or the Host of the request cannot be read.'),
          ),
        ),
    },
  );
}

/** Closes connections beyond `mostPerAddress` without an answer, as a full server does. Proxies have no limit. */
function limitPerAddress(server: Server, { isProxy, mostPerAddress }: ListenOptions): void {
  const perAddress = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    if (isProxy(address)) return;
    const key = limitKey(address);
    const count = (perAddress.get(key) ?? 0) + 1;
    if (count > mostPerAddress) {
      socket.destroy();
      return;
    }
    perAddress.set(key, count);
    socket.once('close', () => {
      const left = (perAddress.get(key) ?? 1) - 1;
      if (left === 0) perAddress.delete(key);
      else perAddress.set(key, left);
    });
  });
}

const closeServer = (server: Server, silent: ReadonlySet<Socket>): Promise<void> =>
  new Promise((resolve) => {
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection that finishes its answer meanwhile becomes idle and gets no further request.
    const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
    server.close(() => {
      clearTimeout(cutOff);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
  });

/** A client may still send the body of a refused request. The server discards it and soon stops reading. */
function endUnread(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  const timer = setTimeout(() => {
    if (!incoming.complete) incoming.socket.destroySoon();
  }, unreadMs);
  timer.unref();
}

const unreadMs = 200;

/** Requests to proxies have a whole URL. This server is not a proxy, so such a URL must have the host of Host. */
function isForAnother({ url = '', headers }: IncomingMessage): boolean {
  if (url.startsWith('/')) return false;
  return URL.parse(url)?.host !== URL.parse(`http://${headers.host ?? ''}`)?.host;
}

const toRefusal = (error: NodeJS.ErrnoException, host: string, port: number): Error =>
  error.code === 'EADDRINUSE'
    ? new QuittanceError(
        'config.invalid',
        `Port ${port} of ${host} is in use. Choose another with --port; 0 takes any that is free.`,
        { port: String(port) },
        error,
      )
    : error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND'
      ? new QuittanceError(
          'config.invalid',
          `This machine has no address ${host}. Use 127.0.0.1, or an address of this machine.`,
          {},
          error,
        )
      : error;

/** Refuses input that never became a request: Node could not parse it, or did not get it in time. */

/** Sends a refusal and ends the connection, because the start of the next request is unknown. */
function refuseSocket(error: NodeJS.ErrnoException, socket: Duplex, isAnswering: boolean): void {
  // During another answer, the client would take these bytes for a part of it.
  if (!isAnswering && socket.writable && error.code !== 'ECONNRESET')
    socket.write(toText(toSocketRefusal(error)));
  socket.destroy(error);
}

function toSocketRefusal({ code }: NodeJS.ErrnoException): HttpRefusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HttpRefusal('http.timeout', 'Send the request again, faster, and all of it.');
  if (code === 'HPE_HEADER_OVERFLOW')
    return new HttpRefusal(
      'http.head_too_large',
      'Address and headers may have 16 KiB together, and there may be a hundred headers. Send less; what is long belongs in a body.',
    );
  return new HttpRefusal('http.bad_request', 'This is not a valid HTTP/1.1 request.');
}

function toText(refusal: HttpRefusal): string {
  const problem = toProblem(refusal);
  const body = JSON.stringify(problem);
  const headers = [
    ...safeHeaders,
    ['content-type', 'application/problem+json; charset=utf-8'],
    ['content-length', String(Buffer.byteLength(body))],
    ['connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}`);
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Refused'}`;
  return `${[status, ...headers].join('\r\n')}\r\n\r\n${body}`;
}
