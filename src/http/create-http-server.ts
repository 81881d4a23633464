/** The server as a library: a ledger and a runtime behind HTTP. */
import { parseLedgerUrl } from '../store/ledger-url.ts';
import type { App } from './app.ts';
import { createApp } from './app.ts';
import { readConsoleFiles } from './console-files.ts';
import { closeService, createService, defaultStallMs, openSchemas } from './create-service.ts';
import { allowedHosts, ownUrl } from './allowed-hosts.ts';
import type { HttpServerOptions } from './http-server-options.ts';
import { checkHttpServerOptions, readProxyHeader, toAppLimits } from './http-server-options.ts';
import { listen } from './listen.ts';
import { openAccess, openSignIns, openTokenStore } from './open-access.ts';
import { createIsProxy, createReadAddress } from './read-address.ts';
import { newSecret } from '../runtime/host/token-content.ts';

export interface HttpServer {
  /** The address of the server. */
  readonly url: string;
  readonly port: number;
  /** The token of this process; ends with it. Undefined without `localName`. */
  readonly token: string | undefined;
  /** A link that logs a browser in, once. Undefined without `localName`. */
  loginLink(): string | undefined;
  /** Answers a request without a socket: for tests, and for servers that have their own. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** From now on `GET /readyz` answers that the server is stopping. It goes on serving until `close`. */
  drain(): void;
  /** Stops listening. It does not close the runtime or the ledger. */
  close(): Promise<void>;
}

/** Starts to listen. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  checkHttpServerOptions(options);
  const { ledger, ledgerUrl, host: given = '127.0.0.1', limits = {}, localName } = options;
  // This name has two addresses, and another program may listen on the other one.
  const host = given === 'localhost' ? '127.0.0.1' : given;
  const { stallMs = defaultStallMs, connections = 4_096 } = limits;
  const isProxy = createIsProxy({ proxies: options.trustProxies ?? [] });
  const proxyHeader = readProxyHeader(options);
  const path = ledgerUrl === undefined ? undefined : ledgerPath(ledgerUrl);
  const local = localName === undefined ? undefined : { token: newSecret(), name: localName };
  let port = options.port ?? 4747;
  const closing = new AbortController();
  const draining = new AbortController();
  // Read with every request; the port is known once the server listens.
  let names: { readonly port: number; readonly hosts: ReadonlySet<string> } | undefined;
  const hosts = (): ReadonlySet<string> => {
    if (names?.port !== port) names = { port, hosts: allowedHosts(host, port, options) };
    return names.hosts;
  };
  const url = (): string => options.publicUrl?.replace(/\/+$/, '') ?? ownUrl(host, port);
  const tokens = openTokenStore(ledger, path);
  tokens.check();
  const people = openSignIns(options, path);
  const access = openAccess(options, { tokens, signIns: people?.signIns, local, hosts, port: () => port });
  const schemas = await openSchemas(options, path);
  const service = createService(options, {
    path,
    access,
    signIns: people?.signIns,
    schemas,
    url,
    closing: closing.signal,
    draining: draining.signal,
  });
  const app: App = createApp({
    service,
    limits: toAppLimits(limits),
    hosts,
    console: readConsoleFiles(options.consoleFolder),
    devices: people?.devices,
    onError: options.onError ?? (() => undefined),
    onRequest: options.onRequest ?? (() => undefined),
  });
  const listening = await listen(app, {
    host,
    port,
    timeouts: { headersMs: 10_000, requestMs: 30_000, keepAliveMs: 10_000, ...limits.timeouts },
    mostConnections: connections,
    mostPerAddress: limits.connectionsPerAddress ?? Math.ceil(connections * 0.75),
    isProxy,
    readAddress: createReadAddress(isProxy, proxyHeader),
    proxyHeader,
    stallMs,
  });
  ({ port } = listening);
  const stopTiming = options.runtime.onTime((what, elapsedMs) => service.metrics.noteTime(what, elapsedMs));
  return {
    get url() {
      return url();
    },
    port,
    token: local?.token,
    loginLink: () => (local === undefined ? undefined : `${url()}/login?code=${access.makeCode()}`),
    fetch: (request) => app(request, { address: 'local', cut: undefined }),
    drain: () => draining.abort(),
    async close() {
      closing.abort();
      stopTiming();
      service.followers.close();
      await Promise.all([listening.close(), closeService(service)]);
    },
  };
}

/** The file of the ledger; undefined if it has none. */
function ledgerPath(ledgerUrl: string): string | undefined {
  const address = parseLedgerUrl(ledgerUrl);
  return address.kind === 'sqlite' ? address.path : undefined;
}
