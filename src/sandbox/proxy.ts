/**
 * The only way from a sandbox to the network: a forward proxy in the host process, for one call. It resolves names
 * itself and connects only if the rules of the tool allow the host, the port and the address. It has no port: requests
 * arrive as frames from sandbox-relay.ts.
 *
 * - An entry without a port allows 80 and 443. Other ports must be named: `example.com:8443`.
 * - Private, loopback, link-local and metadata addresses are refused, also behind an allowed name. An entry that is
 *   exactly the address allows it.
 * - The frames come from the sandbox, so nothing in them is trusted: streams and sizes are bounded.
 */
import { lookup } from 'node:dns/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, isIPv6, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { isPrivateAddress } from '../outbound/address.ts';
import { carriedAddresses, normalizeHost } from '../policy/sandbox/host-name.ts';
import { compileHosts } from '../policy/sandbox/sandbox.ts';
import type { HostRule } from './plan.ts';

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
    exact: compileHosts(
      allowed.filter((entry) => !hasWildcard(entry)),
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
      return compiled.every(({ exact, notDenied }) => (isPrivateAddress(address) ? exact : notDenied)(found));
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
  /** Told of every connection that is made, as `host:port`. */
  readonly onReached: (target: string) => void;
  /** Told of every connection that is refused. */
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
  const resolve = async (
    host: string,
    port: number,
  ): Promise<{ readonly address: string } | { readonly refusal: string }> => {
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

  const server = createServer((request, response) => void forward(request, response));
  server.on('connect', (request, client, head) => void tunnel(request, keep(client), head));
  server.on('clientError', (_error, client) => client.destroy());

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '');
    if (url === null || url.protocol !== 'http:')
      return refuse(response, 'This proxy takes CONNECT requests and whole http: addresses.');
    const port = url.port === '' ? 80 : Number(url.port);
    const found = await resolve(url.hostname.replace(/^\[|\]$/g, ''), port);
    if ('refusal' in found) return refuse(response, found.refusal);
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !hopHeaders.has(name) && !name.startsWith('proxy-')),
    );
    const upstream = httpRequest(
      {
        host: found.address,
        port,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, host: url.host },
        agent: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on('socket', (socket: Socket) => keep(socket));
    upstream.on('error', (error) => {
      if (response.headersSent) response.destroy();
      else refuse(response, error.message, 502);
    });
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(request.url ?? '') ?? [];
    const found =
      host === undefined || port === undefined
        ? { refusal: 'CONNECT takes a host and a port.' }
        : await resolve(host.replace(/^\[|\]$/g, ''), Number(port));
    if ('refusal' in found) {
      client.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(found.refusal)}\r\nConnection: close\r\n\r\n${found.refusal}`,
      );
      return;
    }
    const upstream = keep(connect({ host: found.address, port: Number(port) }));
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

/** Headers of one connection, which a proxy does not pass on. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
]);

function refuse(response: ServerResponse, reason: string, status = 403): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  response.end(reason);
}

const headerBytes = 8;
const mostStreams = 512;
/** A relay reads its connections in pieces of 64 KiB. */
const mostFrameBytes = 1_048_576;

/**
 * Turns frames into streams. A stream whose reader is slow stops the bus, so the host keeps at most a few pieces of each.
 */
function splitFrames(bus: Duplex, accept: (stream: Duplex) => void, onAbuse: () => void): void {
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
