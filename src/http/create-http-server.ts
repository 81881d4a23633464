/** The server as a library: a ledger and a runtime behind HTTP. */
import { QuittanceError } from '../base/error.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import { checkBudgets } from '../runtime/host/budget.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { ReloadResult } from '../contracts/from-yaml.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import { parseLedgerUrl } from '../store/ledger-url.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { AccessOptions } from './access.ts';
import { Access } from './access.ts';
import type { AnsweredRequest, App, AppLimits } from './app.ts';
import { createApp } from './app.ts';
import type { ProxyHeader } from './read-address.ts';
import { createIsProxy, createReadAddress, proxyHeaders } from './read-address.ts';
import { ContractThreads } from './contract-threads.ts';
import { AskedCalls } from './asked-calls.ts';
import { readConsoleFiles } from './console-files.ts';
import type { ConsoleOptions } from './console-options.ts';
import { readConsoleOptions } from './console-options.ts';
import { Exports } from './exports.ts';
import { Followers } from './followers.ts';
import { Jobs } from './jobs.ts';
import type { ListenTimeouts } from './listen.ts';
import { listen } from './listen.ts';
import { McpServers } from './mcp-servers.ts';
import { Metrics } from './metrics.ts';
import type { Rate } from './rate-limit.ts';
import { Reader } from './reader.ts';
import type { SchemaHistory } from './schema-history.ts';
import { openSchemaHistory } from './schema-history.ts';
import type { Service } from './service.ts';
import { createSeal } from '../ledger/seal.ts';
import { Devices } from './sign-in/devices.ts';
import { OpenIdProvider } from './sign-in/openid-provider.ts';
import type { SignInOptions } from './sign-in/sign-in-options.ts';
import { checkSignInOptions } from './sign-in/sign-in-options.ts';
import { SignIns } from './sign-in/sign-ins.ts';
import { openSignInContent } from './sign-in/open-sign-in-content.ts';
import { LedgerTokens } from './ledger-tokens.ts';
import type { Tokens } from './token-content.ts';
import { checkTokenName, newSecret } from './token-content.ts';
import { TokenFile, tokenFilePath } from './token-file.ts';
import { checkTraceUrl } from './trace-url.ts';

export type HttpServerOptions = {
  readonly ledger: Ledger;
  /** Makes and decides calls. Its ledger must be the same. */
  readonly runtime: Runtime;
  /** The tools to show. The default is those of the runtime. */
  readonly tools?: readonly AnyTool[];
  /** The rules to show and explain. The default is those of the runtime. */
  readonly contracts?: Contracts;
  /** The budgets to show with their usage. The default is those of the runtime. */
  readonly budgets?: readonly BudgetRule[];
  /** Reloads the rules: `reload` of contracts that were loaded from files. */
  readonly reloadContracts?: () => Promise<ReloadResult>;
  /** The URL of the ledger, with its `schema`. Threads open it. Tokens and schemas are next to its file, or in its database. */
  readonly ledgerUrl?: string;
  /** The default is `127.0.0.1`: this machine only. */
  readonly host?: string;
  /** The default is 4747; 0 takes any free port. */
  readonly port?: number;
  /** Other host names that the server accepts, e.g. `quittance.example.org` behind a proxy. */
  readonly allowHosts?: readonly string[];
  /** The public URL, if it is not host and port. With https, cookies are sent over TLS only. */
  readonly publicUrl?: string;
  /**
   * Proxies in front of the server, as addresses or networks: `127.0.0.1`, `10.0.0.0/8`. Only their
   * statements about the address of a caller are trusted. Without proxies, limits for callers without a token
   * use the address of the socket.
   */
  readonly trustProxies?: readonly string[];
  /** The header in which trusted proxies name the caller. Default: `x-forwarded-for`. */
  readonly proxyHeader?: ProxyHeader;
  /** Sign-in of people with an OpenID Connect provider. Needs the package openid-client. */
  readonly signIn?: SignInOptions;
  /** Name recorded for decisions made with the local token. Without it, there is no local token. */
  readonly localName?: string;
  /** The folder of the console's files. */
  readonly consoleFolder?: string;
  /** How the console presents the ledger: name, color, currency, and the consoles of other ledgers. */
  readonly console?: ConsoleOptions;
  readonly limits?: HttpLimits;
  /** Receives errors of the server itself. */
  readonly onError?: (error: unknown) => void;
  /** Receives each answered request: its route, never its address or its contents. */
  readonly onRequest?: (request: AnsweredRequest) => void;
  /**
   * The address of a trace in the program that shows traces, with `{traceId}` and perhaps `{spanId}` in it. The console
   * then links calls to their traces.
   */
  readonly traceUrl?: string;
  /** The version that the server reports. */
  readonly version?: string;
};

export type HttpLimits = {
  /** The largest body of a request, in bytes. 1 MiB. */
  readonly bodyBytes?: number;
  /**
   * The largest body of a request for a call, a decision or a resolution, in bytes. Default: 64 KiB. Reports
   * of workers may be four times as large. Rules judge all of it on the event loop, so a larger limit lets
   * one call delay others.
   */
  readonly callBytes?: number;
  /** The largest body of a request without a valid token, in bytes. 16 KiB. */
  readonly strangerBodyBytes?: number;
  /** How long documents that a caller typed may take to read and explain. Default: 5 seconds. */
  readonly contractMs?: number;
  /** Bytes of bodies over 64 KiB per token. Default: 8 MiB a second, 16 MiB at once. */
  readonly bodyRate?: Rate;
  /** Requests per token. Default: 1000 a second, 2000 at once. */
  readonly rate?: Rate;
  /** Requests per address without a token. Default: 20 a second, 60 at once. */
  readonly strangerRate?: Rate;
  /** Steps of sign-in per address. Default: 2 a second, 60 at once. */
  readonly signInRate?: Rate;
  /** Connections that follow the ledger. Default: 2000. */
  readonly followers?: number;
  /** How long a client may leave its answer unread. Default: 30 seconds. */
  readonly stallMs?: number;
  /** How often a follower receives a heartbeat. Default: 15 seconds. */
  readonly heartbeatMs?: number;
  /** Open connections. Default: 4096. */
  readonly connections?: number;
  /** Open connections per address, except trusted proxies. Default: three quarters of all. */
  readonly connectionsPerAddress?: number;
  readonly timeouts?: Partial<ListenTimeouts>;
};

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

const optionNames = [
  'ledger',
  'runtime',
  'tools',
  'contracts',
  'budgets',
  'reloadContracts',
  'ledgerUrl',
  'host',
  'port',
  'allowHosts',
  'publicUrl',
  'trustProxies',
  'proxyHeader',
  'signIn',
  'localName',
  'consoleFolder',
  'console',
  'limits',
  'onError',
  'onRequest',
  'traceUrl',
  'version',
] as const;

const defaultStallMs = 30_000;

/** Starts to listen. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  checkKeys('createHttpServer', options, optionNames);
  checkBudgets(options.budgets);
  checkNames(options);
  checkTraceUrl(options.traceUrl);
  if (options.localName !== undefined) checkTokenName(options.localName);
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
    if (names?.port !== port) names = { port, hosts: allowed(host, port, options) };
    return names.hosts;
  };
  const url = (): string =>
    options.publicUrl?.replace(/\/+$/, '') ?? `http://${bracketed(reached(host))}:${port}`;
  const tokens = openTokens(ledger, path);
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

const closeService = ({ jobs, contractThreads, reader }: Service): Promise<unknown> =>
  Promise.all([jobs.close(), contractThreads.close(), reader.close()]);

function readProxyHeader({ proxyHeader = 'x-forwarded-for' }: HttpServerOptions): ProxyHeader {
  if (proxyHeaders.includes(proxyHeader)) return proxyHeader;
  throw new QuittanceError(
    'config.invalid',
    `proxyHeader must be ${proxyHeaders.join(' or ')}; found ${JSON.stringify(proxyHeader)}.`,
  );
}

/** A caller is known by a token, a browser login or a sign-in. */
function openAccess(
  { ledger, publicUrl }: HttpServerOptions,
  {
    port,
    ...known
  }: Pick<AccessOptions, 'tokens' | 'signIns' | 'local' | 'hosts'> & { readonly port: () => number },
): Access {
  const secure = /^https:/i.test(publicUrl ?? '');
  return new Access({
    ...known,
    cookieName: () => `${secure ? '__Host-' : ''}quittance${cookieSuffix(publicUrl, port())}`,
    secure,
    now: () => ledger.now(),
  });
}

/** Tokens are next to the file of the ledger, in its database, or in this process. */
function openTokens(ledger: Ledger, path: string | undefined): Tokens {
  const now = (): number => ledger.now();
  return path === undefined && ledger.documents !== undefined
    ? new LedgerTokens(ledger.documents, now)
    : new TokenFile(path === undefined ? undefined : tokenFilePath(path), now);
}

/** Sign-ins are where tokens are. */
function openSignIns(
  { ledger, signIn, onError = () => undefined }: HttpServerOptions,
  path: string | undefined,
): { readonly signIns: SignIns; readonly devices: Devices } | undefined {
  if (signIn === undefined) return undefined;
  const settings = checkSignInOptions(signIn);
  const now = (): number => ledger.now();
  const seal = createSeal(ledger.sealKey);
  const content = openSignInContent(ledger, path);
  content.check();
  const provider = new OpenIdProvider(settings);
  const signIns = new SignIns({ content, settings, provider, seal, now, onError });
  return { signIns, devices: new Devices({ content, signIns, seal, now }) };
}

/**
 * Cookies ignore ports, so two servers on one machine need different names. Servers behind one public address share
 * the name, whatever port each listens on.
 */
function cookieSuffix(publicUrl: string | undefined, port: number): string {
  if (publicUrl === undefined) return `-${port}`;
  const { port: shown } = new URL(publicUrl);
  return shown === '' ? '' : `-${shown}`;
}

const openSchemas = (
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

function createService(
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
      ledger.entries,
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

const toAppLimits = (limits: HttpLimits): AppLimits => ({
  bodyBytes: limits.bodyBytes ?? 1_048_576,
  callBytes: limits.callBytes ?? 65_536,
  strangerBodyBytes: limits.strangerBodyBytes ?? 16_384,
  bodyRate: limits.bodyRate ?? { perSecond: 8_388_608, burst: 16_777_216 },
  rate: limits.rate ?? { perSecond: 1_000, burst: 2_000 },
  strangerRate: limits.strangerRate ?? { perSecond: 20, burst: 60 },
  signInRate: limits.signInRate ?? { perSecond: 2, burst: 60 },
});

/** The file of the ledger; undefined if it has none. */
function ledgerPath(ledgerUrl: string): string | undefined {
  const address = parseLedgerUrl(ledgerUrl);
  return address.kind === 'sqlite' ? address.path : undefined;
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);
/** A browser cannot open the address that means all interfaces. */
const reached = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** The names a request may use as Host: the server's own, and those in the options. */
function allowed(
  host: string,
  port: number,
  { allowHosts = [], publicUrl }: HttpServerOptions,
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

/** With a wrong name, the server would refuse every request, and the reason would be hard to find. */
function checkNames({ allowHosts = [], publicUrl }: HttpServerOptions): void {
  if (publicUrl !== undefined) {
    const { protocol, host, href } = URL.parse(publicUrl) ?? {};
    if (!/^https?:$/.test(protocol ?? '') || href !== `${protocol}//${host}/`)
      throw new QuittanceError(
        'config.invalid',
        `The public URL must be an address such as https://quittance.example.org, without a path; found ${JSON.stringify(publicUrl)}.`,
      );
  }
  for (const name of allowHosts)
    if (URL.parse(`http://${name}`)?.pathname !== '/' || /[\s/\\?#@]/.test(name))
      throw new QuittanceError(
        'config.invalid',
        `A host to answer under must be a name such as quittance.example.org or 10.0.0.5:8080; found ${JSON.stringify(name)}.`,
      );
}
