/** What the routes work with: one server, everything it holds. */
import type { Ledger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ReloadResult } from '../contracts/from-yaml.ts';
import type { Access } from './access.ts';
import type { AskedCalls } from './asked-calls.ts';
import type { ContractDesk } from './contract-desk.ts';
import type { Exports } from './exports.ts';
import type { Followers } from './followers.ts';
import type { Jobs } from './jobs.ts';
import type { Metrics } from './metrics.ts';
import type { Reader } from './reader.ts';
import type { SchemaHistory } from './schema-history.ts';

export type Service = {
  readonly ledger: Ledger;
  /** The file of the ledger; undefined where it is in memory, or nobody said. */
  readonly ledgerPath: string | undefined;
  readonly runtime: Runtime;
  readonly contracts: Contracts | undefined;
  /** Reads the rules again, where they are read from somewhere. */
  readonly reloadContracts: (() => Promise<ReloadResult>) | undefined;
  readonly tools: readonly AnyTool[];
  /** The budgets of the runtime, as far as the server was told. */
  readonly budgets: readonly BudgetRule[];
  readonly access: Access;
  readonly followers: Followers;
  readonly jobs: Jobs;
  readonly exports: Exports;
  /** Works on documents that callers typed. */
  readonly contractDesk: ContractDesk;
  readonly metrics: Metrics;
  readonly schemas: SchemaHistory;
  readonly askedCalls: AskedCalls;
  /** Reads what may be much, within limits. */
  readonly reader: Reader;
  /** Where the server is reached, without a slash at the end. */
  readonly url: () => string;
  readonly version: string;
  /** Aborted once the server is closing: then it is not ready, and nobody is kept waiting. */
  readonly closing: AbortSignal;
};
