/** The server as a library: a ledger and a runtime behind HTTP. */
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import type { App } from './app.ts';
import { createApp } from './app.ts';
import { readConsoleFiles } from './console-files.ts';
import type { HttpServerOptions } from './http-server-options.ts';
import { checkHttpServerOptions, readProxyHeader, toAppLimits } from './http-server-options.ts';
import { listen } from './listen.ts';
import { openAccess, openSignIns, openTokenStore } from './open-access.ts';
import { createIsProxy, createReadAddress } from './read-address.ts';
import { newSecret } from 'quittance/internal/runtime/tokens';
import { AskedCalls } from './asked-calls.ts';
import { readConsoleOptions } from './console-options.ts';
import { ContractThreads } from './contract-threads.ts';
import { Exports } from './exports.ts';
import { Followers } from './followers.ts';
import { Forks } from './forks.ts';
import { Jobs } from './jobs.ts';
import { McpServers } from './mcp-servers.ts';
import { Metrics } from './metrics.ts';
import { Reader } from './reader.ts';
import type { SchemaHistory } from './schema-history.ts';
import { openSchemaHistory } from './schema-history.ts';
import type { Service } from './service.ts';

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

/** The names under which the server answers. */

type NameOptions = { readonly allowHosts?: readonly string[]; readonly publicUrl?: string };

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);

/** The address of the server for a browser, which cannot open the one that means all interfaces. */
export const ownUrl = (host: string, port: number): string => `http://${bracketed(reached(host))}:${port}`;

const reached = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** The names a request may use as Host: the server's own, and those in the options. */
export function allowedHosts(
  host: string,
  port: number,
  { allowHosts = [], publicUrl }: NameOptions,
): ReadonlySet<string> {
  // A server on all interfaces also listens on loopback, whose names cannot point to another machine.
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  const own = isHere ? ['localhost', '127.0.0.1', '[::1]', bracketed(host)] : [bracketed(host)];
  const names = own.map((name) => `${name}:${port}`);
  const others = [...allowHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  return new Set(
    [...names, ...(port === 80 ? own : []), ...others, ...others.map((name) => `${name}:${port}`)].map(
      (name) => name.toLowerCase(),
    ),
  );
}

/** Creates what the routes work with: the ledger, the runtime and their threads. */

/** How long a client may leave its answer unread. */
export const defaultStallMs = 30_000;

export const openSchemas = (
  { ledger, runtime, tools = runtime.tools }: HttpServerOptions,
  path: string | undefined,
): Promise<SchemaHistory> =>
  openSchemaHistory(
    path === undefined ? { documents: ledger.documents } : { path: `${path}.schemas` },
    tools,
    ledger.now(),
  );

type ServiceParts = Pick<Service, 'access' | 'signIns' | 'url' | 'closing' | 'draining'> & {
  readonly schemas: SchemaHistory;
  /** The file of the ledger, if it has one. */
  readonly path: string | undefined;
};

export function createService(
  options: HttpServerOptions,
  { path, access, signIns, schemas, url, closing, draining }: ServiceParts,
): Service {
  const { ledger, runtime, ledgerUrl, reloadContracts, limits = {}, version = '0' } = options;
  const { tools = runtime.tools, contracts = runtime.contracts, budgets = runtime.budgets } = options;
  const { onError = () => undefined } = options;
  // A ledger in memory cannot be read by threads.
  const readerUrl =
    ledgerUrl !== undefined && parseLedgerUrl(ledgerUrl).kind !== 'memory' ? ledgerUrl : undefined;
  return {
    ledger,
    ledgerPath: path,
    runtime,
    contracts,
    reloadContracts,
    tools,
    budgets,
    access,
    signIns,
    followers: new Followers(
      ledger,
      {
        heartbeatMs: limits.heartbeatMs ?? 15_000,
        stallMs: limits.stallMs ?? defaultStallMs,
        most: limits.followers ?? 2_000,
      },
      { revision: () => access.revision, now: () => ledger.now() },
    ),
    jobs: new Jobs(ledger, readerUrl),
    exports: new Exports({
      ledger,
      ledgerUrl: readerUrl,
      toolVersion: version,
    }),
    forks: new Forks(onError),
    contractThreads: new ContractThreads({ timeMs: limits.contractMs ?? 5_000, memoryMb: 64 }),
    mcp: new McpServers(ledger, path),
    metrics: new Metrics(),
    schemas,
    askedCalls: new AskedCalls(),
    console: readConsoleOptions(options.console),
    reader: new Reader({
      ledger,
      ledgerUrl: readerUrl,
      limits: { callBytes: 4_194_304, totalBytes: 2_097_152, timeMs: 5_000 },
      answerBytes: 16_777_216,
      onError,
    }),
    url,
    traceUrl: options.traceUrl,
    version,
    closing,
    draining,
  };
}

export const closeService = ({ jobs, contractThreads, reader }: Service): Promise<unknown> =>
  Promise.all([jobs.close(), contractThreads.close(), reader.close()]);
