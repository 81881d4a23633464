/** The server as a library: a ledger and a runtime behind HTTP. */
import { QuittanceError } from '../base/error.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import { checkBudgets } from '../runtime/host/budget.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { ReloadResult } from '../contracts/from-yaml.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { Access } from './access.ts';
import type { App } from './app.ts';
import { createApp } from './app.ts';
import type { ProxyHeader } from './caller-address.ts';
import { createIsProxy, createReadAddress, proxyHeaders } from './caller-address.ts';
import { ContractDesk } from './contract-desk.ts';
import { AskedCalls } from './asked-calls.ts';
import { readConsoleFiles } from './console-files.ts';
import { Exports } from './exports.ts';
import { Followers } from './followers.ts';
import { Jobs } from './jobs.ts';
import type { ListenTimeouts } from './listen.ts';
import { listen } from './listen.ts';
import { Metrics } from './metrics.ts';
import type { Rate } from './rate-limit.ts';
import { Reader } from './reader.ts';
import { SchemaHistory } from './schema-history.ts';
import type { Service } from './service.ts';
import { checkTokenName, newSecret, TokenFile, tokenFilePath } from './token-file.ts';

export type HttpServerOptions = {
  readonly ledger: Ledger;
  /** Makes and decides calls. Its ledger must be the same. */
  readonly runtime: Runtime;
  /** The tools to show: those of the runtime unless told. */
  readonly tools?: readonly AnyTool[];
  /** The rules to show and explain: those of the runtime unless told. */
  readonly contracts?: Contracts;
  /** The budgets to show, and how much of them is used: those of the runtime unless told. */
  readonly budgets?: readonly BudgetRule[];
  /** Reads the rules again: `reload` of contracts that were read from files. */
  readonly reloadContracts?: () => Promise<ReloadResult>;
  /** Where the ledger is, for work in threads of its own, and for the files of tokens and schemas beside it. */
  readonly ledgerUrl?: string;
  /** `127.0.0.1` by default: this machine alone. */
  readonly host?: string;
  /** 4747 by default; 0 takes any that is free. */
  readonly port?: number;
  /** Other names the server answers under, e.g. `quittance.example.org` behind a proxy. */
  readonly allowHosts?: readonly string[];
  /** Where people reach it, if not under host and port. Over https, cookies are sent over TLS only. */
  readonly publicUrl?: string;
  /**
   * Proxies in front of the server, as addresses or networks: `127.0.0.1`, `10.0.0.0/8`. Only what they say about the
   * address of a caller is believed. Without any, limits for callers without a token count the address of the socket.
   */
  readonly trustProxies?: readonly string[];
  /** Where trusted proxies name the caller. `x-forwarded-for` by default. */
  readonly proxyHeader?: ProxyHeader;
  /** Whose decisions they are that are made with the token of this process. No such token where nothing is said. */
  readonly localName?: string;
  /** The folder of the console's files. */
  readonly consoleFolder?: string;
  readonly limits?: HttpLimits;
  /** Told of what goes wrong in the server itself. */
  readonly onError?: (error: unknown) => void;
  /** The version that is told. */
  readonly version?: string;
};

export type HttpLimits = {
  /** The largest body of a request, in bytes. 1 MiB. */
  readonly bodyBytes?: number;
  /**
   * The largest body of a request for a call, of a decision and of a resolution, in bytes. 64 KiB. Reports of workers
   * may have four times as much. Rules judge all of it on the event loop: a larger limit lets one call hold up others.
   */
  readonly callBytes?: number;
  /** The largest body of a request without a valid token, in bytes. 16 KiB. */
  readonly strangerBodyBytes?: number;
  /** How long contracts that a caller typed may take to read and explain. 5 seconds. */
  readonly contractMs?: number;
  /** Bytes of bodies over 64 KiB, of one token. 8 MiB a second, 16 MiB at once. */
  readonly bodyRate?: Rate;
  /** Requests of one token. 1000 a second, 2000 at once. */
  readonly rate?: Rate;
  /** Requests from one address without a token. 20 a second, 60 at once. */
  readonly strangerRate?: Rate;
  /** Connections that follow the ledger. 2000. */
  readonly followers?: number;
  /** How long anybody may take nothing of what waits for them. 30 seconds. */
  readonly stallMs?: number;
  /** How often a follower hears that the server is there. 15 seconds. */
  readonly heartbeatMs?: number;
  /** Open connections. 4096. */
  readonly connections?: number;
  /** Open connections from one address that is no trusted proxy. Three quarters of all. */
  readonly connectionsPerAddress?: number;
  readonly timeouts?: Partial<ListenTimeouts>;
};

export interface HttpServer {
  /** Where it is reached. */
  readonly url: string;
  readonly port: number;
  /** The token of this process; ends with it. Undefined without `localName`. */
  readonly token: string | undefined;
  /** A link that logs a browser in, once. Undefined without `localName`. */
  loginLink(): string | undefined;
  /** Answers a request without a socket: for tests, and for servers that have their own. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Stops listening. Runtime and ledger are whoever's made them. */
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
  'localName',
  'consoleFolder',
  'limits',
  'onError',
  'version',
] as const;

/** Starts to listen. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  checkKeys('createHttpServer', options, optionNames);
  checkBudgets(options.budgets);
  checkNames(options);
  if (options.localName !== undefined) checkTokenName(options.localName);
  const {
    ledger,
    runtime,
    tools = runtime.tools,
    contracts = runtime.contracts,
    budgets = runtime.budgets,
    ledgerUrl,
    host: given = '127.0.0.1',
    limits = {},
    localName,
  } = options;
  // The name may stand for two addresses, and another program may have the other one.
  const host = given === 'localhost' ? '127.0.0.1' : given;
  const { stallMs = 30_000, connections = 4_096 } = limits;
  const isProxy = createIsProxy({ proxies: options.trustProxies ?? [] });
  const { proxyHeader = 'x-forwarded-for' } = options;
  if (!proxyHeaders.includes(proxyHeader))
    throw new QuittanceError(
      'config.invalid',
      `proxyHeader must be ${proxyHeaders.join(' or ')}; found ${JSON.stringify(proxyHeader)}.`,
    );
  const path = ledgerUrl === undefined ? undefined : ledgerPath(ledgerUrl);
  const local = localName === undefined ? undefined : { token: newSecret(), name: localName };
  let port = options.port ?? 4747;
  const closing = new AbortController();
  // Asked with every request; the port is known once the server listens.
  let names: { readonly port: number; readonly hosts: ReadonlySet<string> } | undefined;
  const hosts = (): ReadonlySet<string> => {
    if (names?.port !== port) names = { port, hosts: allowed(host, port, options) };
    return names.hosts;
  };
  const url = (): string =>
    options.publicUrl?.replace(/\/+$/, '') ?? `http://${bracketed(reached(host))}:${port}`;
  const tokens = new TokenFile(path === undefined ? undefined : tokenFilePath(path), () => ledger.now());
  tokens.check();
  const access = new Access({
    tokens,
    local,
    hosts,
    // Cookies know no ports: two servers on one machine must not take each other's.
    cookieName: () => `quittance-${port}`,
    secure: /^https:/i.test(options.publicUrl ?? ''),
    now: () => ledger.now(),
  });
  const service: Service = {
    ledger,
    ledgerPath: path,
    runtime,
    contracts,
    reloadContracts: options.reloadContracts,
    tools,
    budgets,
    access,
    followers: new Followers(
      ledger.entries,
      {
        heartbeatMs: limits.heartbeatMs ?? 15_000,
        stallMs,
        most: limits.followers ?? 2_000,
      },
      { revision: () => access.revision, now: () => ledger.now() },
    ),
    jobs: new Jobs(ledger, ledgerUrl),
    exports: new Exports({
      ledger,
      ledgerUrl: path === undefined ? undefined : ledgerUrl,
      toolVersion: options.version ?? '0',
    }),
    contractDesk: new ContractDesk({ timeMs: limits.contractMs ?? 5_000, memoryMb: 64 }),
    metrics: new Metrics(),
    schemas: new SchemaHistory(path === undefined ? undefined : `${path}.schemas`, tools, ledger.now()),
    askedCalls: new AskedCalls(),
    reader: new Reader({
      ledger,
      ledgerUrl: path === undefined ? undefined : ledgerUrl,
      limits: { callBytes: 4_194_304, totalBytes: 2_097_152, timeMs: 5_000 },
      answerBytes: 16_777_216,
      onError: options.onError ?? (() => undefined),
    }),
    url,
    version: options.version ?? '0',
    closing: closing.signal,
  };
  const app: App = createApp({
    service,
    limits: {
      bodyBytes: limits.bodyBytes ?? 1_048_576,
      callBytes: limits.callBytes ?? 65_536,
      strangerBodyBytes: limits.strangerBodyBytes ?? 16_384,
      bodyRate: limits.bodyRate ?? { perSecond: 8_388_608, burst: 16_777_216 },
      rate: limits.rate ?? { perSecond: 1_000, burst: 2_000 },
      strangerRate: limits.strangerRate ?? { perSecond: 20, burst: 60 },
    },
    hosts,
    console: readConsoleFiles(options.consoleFolder),
    onError: options.onError ?? (() => undefined),
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
  return {
    get url() {
      return url();
    },
    port,
    token: local?.token,
    loginLink: () => (local === undefined ? undefined : `${url()}/login?code=${access.makeCode()}`),
    fetch: (request) => app(request, { address: 'local', cut: undefined }),
    async close() {
      closing.abort();
      service.followers.close();
      await Promise.all([
        listening.close(),
        service.jobs.close(),
        service.contractDesk.close(),
        service.reader.close(),
      ]);
    },
  };
}

/** As `openLedger` reads it; undefined where it is no file. */
function ledgerPath(ledgerUrl: string): string | undefined {
  if (/^memory:/i.test(ledgerUrl)) return undefined;
  return ledgerUrl.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);
/** Everywhere is no place a browser can go to. */
const reached = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** The names a request may be for: the server's own, and those it was told of. */
function allowed(
  host: string,
  port: number,
  { allowHosts = [], publicUrl }: HttpServerOptions,
): ReadonlySet<string> {
  // Whoever listens everywhere listens here too; and the names of this machine for itself cannot be pointed elsewhere.
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

/** Whoever is told a wrong name would be turned away with every request, and wonder why. */
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
