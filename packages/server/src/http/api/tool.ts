/** Tools: those of the server, and others that the ledger has calls of. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { ToolMode, ToolModeOrigin } from 'quittance/internal/tool/mode';
import type { ToolRisk } from 'quittance/internal/tool/name-words';
import type { OutcomeCounts, Percentiles } from './stats.ts';
import type { Integer, Timestamp } from './scalar.ts';

/** `GET /v1/tools`. */
export type ToolList = { readonly rows: readonly ToolRow[] };
export type ToolRow = {
  readonly name: string;
  /** Does this server have the tool? If not, only the ledger has calls of it. */
  readonly known: boolean;
  readonly description: string | undefined;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** What a mistake with the tool could cost, if known. */
  readonly risk?: ToolRisk | undefined;
  /** Does another process run it? */
  readonly handoff: boolean;
  readonly calls: Integer;
  readonly outcomes: OutcomeCounts;
  /** Failures and timeouts among settled calls that were not denied, from 0 to 1. */
  readonly errorRate: number | undefined;
  readonly latency: Percentiles;
  readonly costMicros: Integer;
  readonly schemaDigest: string | undefined;
  /** Has its schema changed since a server first saw it? */
  readonly drifted: boolean;
};

/** `GET /v1/tools/{toolName}`. */
export type ToolDetail = {
  readonly tool: ToolRow;
  readonly schema: JsonObject | undefined;
  readonly codes: readonly { readonly code: string; readonly count: Integer }[];
  /** Newest first. */
  readonly schemas: readonly SchemaVersion[];
};
export type SchemaVersion = {
  readonly digest: string;
  readonly firstSeenAt: Timestamp;
  readonly schema: JsonObject;
  /** Paths that differ from the previous version. */
  readonly changes: readonly { readonly path: string; readonly how: 'added' | 'removed' | 'changed' }[];
};
