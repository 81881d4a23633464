/** The parts of one server that its routes use. */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Contracts } from 'quittance/internal/policy/judge/contracts';
import type { BudgetRule } from 'quittance/internal/runtime/budget';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ReloadResult } from 'quittance/internal/contracts/from-yaml';
import type { Access } from './access.ts';
import type { ConsoleView } from './api/console.ts';
import type { AskedCalls } from './asked-calls.ts';
import type { ContractThreads } from './contract-threads.ts';
import type { Exports } from './exports.ts';
import type { Followers } from './followers.ts';
import type { Forks } from './forks.ts';
import type { Jobs } from './jobs.ts';
import type { McpServers } from './mcp-servers.ts';
import type { Metrics } from './metrics.ts';
import type { Reader } from './reader.ts';
import type { SignIns } from './sign-in/sign-ins.ts';
import type { SchemaHistory } from './schema-history.ts';

export type Service = {
  readonly ledger: OpenLedger;
  /** The file of the ledger; undefined if it is in memory or not given. */
  readonly ledgerPath: string | undefined;
  readonly runtime: Runtime;
  readonly contracts: Contracts | undefined;
  /** Reloads the rules, if they come from files. */
  readonly reloadContracts: (() => Promise<ReloadResult>) | undefined;
  readonly tools: readonly AnyTool[];
  /** The budgets of the runtime that the server knows. */
  readonly budgets: readonly BudgetRule[];
  readonly access: Access;
  /** The sign-ins of people; undefined without an identity provider. */
  readonly signIns: SignIns | undefined;
  readonly followers: Followers;
  readonly jobs: Jobs;
  readonly exports: Exports;
  readonly forks: Forks;
  /** Works on documents from requests. */
  readonly contractThreads: ContractThreads;
  /** The MCP servers behind the gateways of the ledger. */
  readonly mcp: McpServers;
  readonly metrics: Metrics;
  readonly schemas: SchemaHistory;
  readonly askedCalls: AskedCalls;
  /** How the console presents the ledger. */
  readonly console: ConsoleView;
  /** Reads large parts of the ledger within limits. */
  readonly reader: Reader;
  /** The URL of the server, without a slash at the end. */
  readonly url: () => string;
  /** The template of links to traces; undefined if the console has none. */
  readonly traceUrl: string | undefined;
  readonly version: string;
  /** Aborted when the server closes. It is then not ready, and waits end. */
  readonly closing: AbortSignal;
  /** Aborted when the server is about to stop: it is not ready any more, and goes on serving. */
  readonly draining: AbortSignal;
};
