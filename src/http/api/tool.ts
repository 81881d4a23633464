/** Tools: those the server has, and those the ledger tells of. */
import type { JsonObject } from '../../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { OutcomeCounts, Percentiles } from './stats.ts';

/** `GET /v1/tools`. */
export type ToolList = { readonly rows: readonly ToolRow[] };
export type ToolRow = {
  readonly name: string;
  /** Whether this server has it; else only the ledger tells of it. */
  readonly known: boolean;
  readonly description: string | undefined;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** Whether another process runs it. */
  readonly handoff: boolean;
  readonly calls: number;
  readonly outcomes: OutcomeCounts;
  /** Failures and timeouts, of the calls that have an outcome and were not denied. From 0 to 1. */
  readonly errorRate: number | undefined;
  readonly latency: Percentiles;
  readonly costMicros: number;
  readonly schemaDigest: string | undefined;
  /** Whether its schema changed since a server saw it first. */
  readonly drifted: boolean;
};

/** `GET /v1/tools/{toolName}`. */
export type ToolDetail = {
  readonly tool: ToolRow;
  readonly schema: JsonObject | undefined;
  readonly codes: readonly { readonly code: string; readonly count: number }[];
  /** Newest first. */
  readonly schemas: readonly SchemaVersion[];
};
export type SchemaVersion = {
  readonly digest: string;
  readonly firstSeenAt: number;
  readonly schema: JsonObject;
  /** Against the one before: paths that came, went or changed. */
  readonly changes: readonly { readonly path: string; readonly how: 'added' | 'removed' | 'changed' }[];
};
