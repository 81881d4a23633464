/** Creates what the routes work with: the ledger, the runtime and their threads. */
import { parseLedgerUrl } from '../store/ledger-url.ts';
import { AskedCalls } from './asked-calls.ts';
import { readConsoleOptions } from './console-options.ts';
import { ContractThreads } from './contract-threads.ts';
import { Exports } from './exports.ts';
import { Followers } from './followers.ts';
import { Forks } from './forks.ts';
import type { HttpServerOptions } from './http-server-options.ts';
import { Jobs } from './jobs.ts';
import { McpServers } from './mcp-servers.ts';
import { Metrics } from './metrics.ts';
import { Reader } from './reader.ts';
import type { SchemaHistory } from './schema-history.ts';
import { openSchemaHistory } from './schema-history.ts';
import type { Service } from './service.ts';

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
