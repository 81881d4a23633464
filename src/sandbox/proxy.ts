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
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isPrivateAddress } from '../outbound/address.ts';
import { carriedAddresses, normalizeHost } from '../policy/sandbox/host-name.ts';
import { compileHosts } from '../policy/sandbox/sandbox.ts';
import type { HostRule } from './plan.ts';
import { splitFrames } from './split-frames.ts';

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
  const server = createServer((request, response) => void forward(request, response, ways));
  server.on('connect', (request, client, head) => void tunnel(request, keep(client), head, ways));
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
  upstream.on('socket', (socket: Socket) => ways.keep(socket));
  upstream.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else refuse(response, error.message, 502);
  });
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
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
