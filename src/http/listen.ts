/** The socket side: a server of Node that waits for nobody longer than it must. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { QuittanceError } from '../base/error.ts';
import type { App } from './app.ts';
import { HttpRefusal, problemResponse } from './problem.ts';
import type { ProxyHeader, ReadAddress } from './caller-address.ts';
import { limitKey } from './caller-address.ts';
import { refuseSocket } from './refuse-socket.ts';
import { addSafeHeaders } from './safe-headers.ts';

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly timeouts: ListenTimeouts;
  readonly mostConnections: number;
  /** From one address that is no trusted proxy. */
  readonly mostPerAddress: number;
  readonly readAddress: ReadAddress;
  readonly isProxy: (address: string) => boolean;
  readonly proxyHeader: ProxyHeader;
  /** How long somebody may take nothing of an answer. */
  readonly stallMs: number;
};

/** In milliseconds. */
export type ListenTimeouts = {
  /** For the head of a request: whoever sends it a byte at a time is cut off. */
  readonly headersMs: number;
  /** For all of a request. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
};

export type Listening = {
  readonly port: number;
  /** Takes no more requests, lets those under way end, and cuts off what is left after a moment. */
  readonly close: () => Promise<void>;
};

const mostHeaderBytes = 16_384;
const graceMs = 5_000;
const sweepMs = 20;

export async function listen(app: App, options: ListenOptions): Promise<Listening> {
  const { host, port, timeouts, mostConnections, stallMs, readAddress } = options;
  const listener = getRequestListener(
    (request, env) => {
      const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse }; // HTTP/1 is all we listen for
      if (isForAnother(incoming))
        throw new HttpRefusal(
          'http.wrong_host',
          'The address of the request names another server than Host.',
        );
      return app(request, {
        address: limitKey(
          readAddress(incoming.socket.remoteAddress ?? '', incoming.headers[options.proxyHeader]?.toString()),
        ),
        cut: () => outgoing.destroy(),
      });
    },
    {
      overrideGlobalObjects: false,
      // The app refuses by itself whatever it is asked; what comes here is what could not be made a request of.
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
  /** Connections that have not asked for anything yet. Clients keep such in reserve, and Node does not call them idle. */
  const silent = new Set<Socket>();
  /** What is being answered on each connection. */
  const answers = new WeakMap<Duplex, Set<ServerResponse>>();
  const server: Server = createServer(
    {
      maxHeaderSize: mostHeaderBytes,
      requireHostHeader: false, // refused above, as everything is
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
  // Whoever expects more than we know of gets what they ask for without it.
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing));
  /** Open connections by whom they come from. */
  const perAddress = new Map<string, number>();
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
    const address = socket.remoteAddress ?? '';
    if (options.isProxy(address)) return;
    const key = limitKey(address);
    const count = (perAddress.get(key) ?? 0) + 1;
    // As a full server does: no answer, and no work for one.
    if (count > options.mostPerAddress) {
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
  server.timeout = stallMs;
  server.on('timeout', (socket: Socket) => {
    const isAnswering = (answers.get(socket)?.size ?? 0) > 0;
    // Whoever waits for an answer may wait for long. Whoever leaves one lying is cut off, as is whoever asks for none.
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
    port: (server.address() as AddressInfo).port, // listens on a port, not on a path
    close: () =>
      new Promise((resolve) => {
        const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
        // Those that end their answer meanwhile are idle then, and nobody will ask them for more.
        const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
        server.close(() => {
          clearTimeout(cutOff);
          clearInterval(sweep);
          resolve();
        });
        server.closeIdleConnections();
        for (const socket of silent) socket.destroy();
      }),
  };
}

/** A refused request may still be sending its body: nothing of it is kept, and soon nothing of it is taken. */
function endUnread(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  const timer = setTimeout(() => {
    if (!incoming.complete) incoming.socket.destroySoon();
  }, unreadMs);
  timer.unref();
}

const unreadMs = 200;

/** Proxies are asked with whole addresses. We are none: such an address must be the one that Host says. */
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
          `This machine has no address ${host}. Use 127.0.0.1, or one of its own.`,
          {},
          error,
        )
      : error;
