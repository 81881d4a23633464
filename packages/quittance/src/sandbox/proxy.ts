/**
 * The only way from a sandbox to the network: a forward proxy in the host process, for one call. It resolves names
 * itself and connects only if the rules of the tool allow the host, the port and the address. It has no port: requests
 * arrive as frames from sandbox-relay.ts.
 *
 * - An entry without a port allows 80 and 443. Other ports must be named: `example.com:8443`.
 * - Private, loopback, link-local and metadata addresses are refused, also behind an allowed name. An entry that is
 *   exactly the address allows it.
 */
import { lookup } from 'node:dns/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { connect, isIPv6, type Socket } from 'node:net';
import { isPrivateAddress } from '../outbound/address.ts';
import { carriedAddresses, normalizeHost } from '../policy/sandbox/host-name.ts';
import { compileHosts } from '../policy/sandbox/sandbox.ts';
import type { HostRule } from './plan.ts';
import { Duplex } from 'node:stream';

/** Decides about a host as written, and about an address that a name resolved to. */
export type HostJudge = {
  readonly mayName: (host: string, port: number) => boolean;
  readonly mayReach: (address: string, port: number) => boolean;
};

const webPorts = new Set([80, 443]);
const hasPort = (entry: string): boolean => /:\d{1,5}\/?$/.test(entry.trim());
/** The brackets of an IPv6 address are not a set. */
const hasWildcard = (entry: string): boolean =>
  /[*?[]/.test(entry) && !/^(?:[a-z+]+:\/\/)?\[[0-9a-f:.]+\](?::\d+)?$/i.test(entry.trim());

export function createHostJudge(rules: readonly HostRule[]): HostJudge {
  const compiled = rules.map(({ allowed, denied }) => ({
    web: compileHosts(allowed, denied),
    otherPorts: compileHosts(allowed.filter(hasPort), denied),
    webExact: compileHosts(
      allowed.filter((entry) => !hasWildcard(entry)),
      denied,
    ),
    otherExact: compileHosts(
      allowed.filter((entry) => !hasWildcard(entry) && hasPort(entry)),
      denied,
    ),
    notDenied: compileHosts(['*'], denied),
  }));
  const toFound = (host: string, port: number) => {
    const name = normalizeHost(isIPv6(host) ? `[${host}]` : host);
    return { name, port: String(port), carries: name === undefined ? [] : carriedAddresses(name) };
  };
  return {
    mayName: (host, port) =>
      compiled.length > 0 &&
      compiled.every(({ web, otherPorts }) => (webPorts.has(port) ? web : otherPorts)(toFound(host, port))),
    mayReach: (address, port) => {
      const found = toFound(address, port);
      const isPrivate = isPrivateAddress(address);
      return compiled.every(({ webExact, otherExact, notDenied }) =>
        (isPrivate ? (webPorts.has(port) ? webExact : otherExact) : notDenied)(found),
      );
    },
  };
}

export type Proxy = {
  /** Serves the frames of this stream until it closes. `onAbuse`: the frames are invalid. */
  readonly serve: (bus: Duplex, onAbuse: () => void) => void;
  /** Serves one connection, for tests without a sandbox. */
  readonly accept: (connection: Duplex) => void;
  readonly close: () => void;
};

export type ProxyOptions = {
  readonly rules: readonly HostRule[];
  /** Receives every connection that is made, as `host:port`. */
  readonly onReached: (target: string) => void;
  /** Receives every connection that is refused, in the same form. */
  readonly onRefused: (target: string) => void;
};

export function createProxy({ rules, onReached, onRefused }: ProxyOptions): Proxy {
  const judge = createHostJudge(rules);
  const open = new Set<{ destroy: () => unknown }>();
  const keep = <Kept extends Duplex>(stream: Kept): Kept => {
    open.add(stream);
    stream.once('close', () => open.delete(stream));
    return stream;
  };

  /** The address to connect to, or the reason why not. */
  const resolve = async (host: string, port: number): Promise<Resolved> => {
    const target = `${host}:${port}`;
    if (!judge.mayName(host, port)) {
      onRefused(target);
      return { refusal: `No sandbox rule of this tool allows ${target}.` };
    }
    const found = await lookup(host, { all: true }).catch(() => []);
    const address = found.find((each) => judge.mayReach(each.address, port))?.address;
    if (address !== undefined) {
      onReached(target);
      return { address };
    }
    if (found.length > 0) onRefused(target);
    return {
      refusal:
        found.length === 0
          ? `${host} has no address.`
          : `${host} is at a private address, which no sandbox rule of this tool names.`,
    };
  };

  const ways: Ways = { resolve, keep };
  // An error that no handler expects ends its connection, never the host process.
  const server = createServer((request, response) => {
    forward(request, response, ways).catch(() => response.destroy());
  });
  server.on('connect', (request, client, head) => {
    tunnel(request, keep(client), head, ways).catch(() => client.destroy());
  });
  server.on('clientError', (_error, client) => client.destroy());

  const accept = (connection: Duplex): void => {
    keep(connection);
    server.emit('connection', connection);
  };
  return {
    serve: (bus, onAbuse) => splitFrames(keep(bus), accept, onAbuse),
    accept,
    close: () => {
      for (const stream of open) stream.destroy();
    },
  };
}

/** What a request needs: an address to connect to, and a place for streams that must end with the call. */
type Ways = {
  readonly resolve: (host: string, port: number) => Promise<Resolved>;
  readonly keep: <Kept extends Duplex>(stream: Kept) => Kept;
};

type Resolved = { readonly address: string } | { readonly refusal: string };

async function forward(request: IncomingMessage, response: ServerResponse, ways: Ways): Promise<void> {
  const url = URL.parse(request.url ?? '');
  if (url === null || url.protocol !== 'http:')
    return refuse(response, 'This proxy takes CONNECT requests and whole http: addresses.');
  const port = url.port === '' ? 80 : Number(url.port);
  const found = await ways.resolve(url.hostname.replace(/^\[|\]$/g, ''), port);
  if ('refusal' in found) return refuse(response, found.refusal);
  const upstream = httpRequest(
    {
      host: found.address,
      port,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...passedHeaders(request.headers), host: url.host },
      agent: false,
    },
    (answer) => passAnswer(answer, response),
  );
  upstream.on('socket', (socket: Socket) => ways.keep(socket));
  // Without a listener Node would keep the socket of an answer that asks to change the protocol.
  upstream.on('upgrade', (_answer, socket) => {
    socket.destroy();
    refuse(response, 'The host answered with another protocol.', 502);
  });
  upstream.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else refuse(response, error.message, 502);
  });
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}

/** The host chooses every byte of an answer, so Node may refuse to write parts of it. */
function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  const status = answer.statusCode ?? 0;
  answer.on('error', () => response.destroy());
  try {
    if (status < 200 || status > 599) throw new RangeError(`The host answered with the status ${status}.`);
    response.writeHead(status, passedHeaders(answer.headers));
    answer.pipe(response);
  } catch (error) {
    answer.destroy();
    if (response.headersSent) response.destroy();
    else refuse(response, error instanceof Error ? error.message : 'The answer is invalid.', 502);
  }
}

async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, ways: Ways): Promise<void> {
  client.on('error', () => client.destroy());
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(request.url ?? '') ?? [];
  const found =
    host === undefined || port === undefined
      ? { refusal: 'CONNECT takes a host and a port.' }
      : await ways.resolve(host.replace(/^\[|\]$/g, ''), Number(port));
  if ('refusal' in found) {
    client.end(
      `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(found.refusal)}\r\nConnection: close\r\n\r\n${found.refusal}`,
    );
    return;
  }
  const upstream = ways.keep(connect({ host: found.address, port: Number(port) }));
  upstream.once('connect', () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.write(head);
    upstream.pipe(client).pipe(upstream);
  });
  upstream.on('error', () => {
    if (upstream.connecting) client.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n');
    else client.destroy();
  });
  upstream.on('close', () => client.end());
  client.on('close', () => upstream.destroy());
}

/** Headers of one connection, which a proxy does not pass on. `connection` can name more of them. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
]);

function passedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !hopHeaders.has(name) && !named.has(name) && !name.startsWith('proxy-'),
    ),
  );
}

function refuse(response: ServerResponse, reason: string, status = 403): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  response.end(reason);
}

/* The host's side of sandbox-relay.ts. The frames come from the sandbox, so their number and size are bounded. */

const headerBytes = 8;
const mostStreams = 512;
/** A relay reads its connections in pieces of 64 KiB. */
const mostFrameBytes = 1_048_576;

/**
 * Turns frames into streams. A stream whose reader is slow stops the bus, so the host keeps at most a few pieces of each.
 */
export function splitFrames(bus: Duplex, accept: (stream: Duplex) => void, onAbuse: () => void): void {
  bus.setMaxListeners(0);
  const streams = new Map<number, Duplex>();
  const full = new Set<number>();
  let newest = 0;
  const resume = (id: number): void => {
    if (full.delete(id) && full.size === 0) bus.resume();
  };
  const send = (id: number, content: Buffer, done: () => void): void => {
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(id, 0);
    header.writeUInt32BE(content.length, 4);
    if (bus.destroyed) done();
    else if (bus.write(Buffer.concat([header, content]))) done();
    else bus.once('drain', done);
  };
  const openStream = (id: number): Duplex => {
    const stream = new Duplex({
      allowHalfOpen: false,
      read: () => resume(id),
      write: (chunk: Buffer, _encoding, done) => send(id, chunk, done),
      destroy: (error, done) => {
        resume(id);
        if (streams.delete(id)) send(id, Buffer.alloc(0), () => undefined);
        done(error);
      },
    });
    stream.on('error', () => undefined);
    streams.set(id, stream);
    accept(stream);
    return stream;
  };
  const deliver = (id: number, content: Buffer): void => {
    const known = streams.get(id);
    if (content.length === 0) {
      streams.delete(id);
      known?.destroy();
      return;
    }
    if (known === undefined) {
      if (id <= newest) return; // the rest of a stream that was closed here
      if (streams.size >= mostStreams) return onAbuse();
      newest = id;
    }
    if (!(known ?? openStream(id)).push(content)) {
      full.add(id);
      bus.pause();
    }
  };
  let rest: Buffer = Buffer.alloc(0);
  bus.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= headerBytes) {
      const length = rest.readUInt32BE(4);
      if (length > mostFrameBytes) return onAbuse();
      if (rest.length < headerBytes + length) return;
      deliver(rest.readUInt32BE(0), rest.subarray(headerBytes, headerBytes + length));
      rest = rest.subarray(headerBytes + length);
    }
  });
  bus.on('error', () => bus.destroy());
  bus.on('close', () => {
    for (const stream of streams.values()) stream.destroy();
  });
}
