/** The options of the server, and their checks. */
import { checkKeys } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import type { ReloadResult } from 'quittance/internal/contracts/from-yaml';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Contracts } from 'quittance/internal/policy/judge/contracts';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { BudgetRule } from 'quittance/internal/runtime/budget';
import { checkBudgets } from 'quittance/internal/runtime/budget';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { AnsweredRequest, AppLimits } from './app.ts';
import { checkServerOptions } from './check-server-options.ts';
import type { ConsoleOptions } from './console-options.ts';
import type { ListenTimeouts } from './listen.ts';
import type { Rate } from './rate-limit.ts';
import type { ProxyHeader } from './read-address.ts';
import { proxyHeaders } from './read-address.ts';
import type { SignInOptions } from './sign-in/sign-in-options.ts';

export type HttpServerOptions = {
  readonly ledger: OpenLedger;
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

/** Refuses options that are wrong. */
export function checkHttpServerOptions(options: HttpServerOptions): void {
  checkKeys('createHttpServer', options, optionNames);
  checkBudgets(options.budgets);
  checkServerOptions(options);
}

export function readProxyHeader({ proxyHeader = 'x-forwarded-for' }: HttpServerOptions): ProxyHeader {
  if (proxyHeaders.includes(proxyHeader)) return proxyHeader;
  throw new QuittanceError(
    'config.invalid',
    `proxyHeader must be ${proxyHeaders.join(' or ')}; found ${JSON.stringify(proxyHeader)}.`,
  );
}

export const toAppLimits = (limits: HttpLimits): AppLimits => ({
  bodyBytes: limits.bodyBytes ?? 1_048_576,
  callBytes: limits.callBytes ?? 65_536,
  strangerBodyBytes: limits.strangerBodyBytes ?? 16_384,
  bodyRate: limits.bodyRate ?? { perSecond: 8_388_608, burst: 16_777_216 },
  rate: limits.rate ?? { perSecond: 1_000, burst: 2_000 },
  strangerRate: limits.strangerRate ?? { perSecond: 20, burst: 60 },
  signInRate: limits.signInRate ?? { perSecond: 2, burst: 60 },
});
