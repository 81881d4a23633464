/** Numbers over time, from counters that are kept with the read tables. */

/** `GET /v1/stats`. */
export type Stats = {
  readonly since: number;
  readonly until: number;
  readonly bucketMs: number;
  /** False where the newest calls alone were counted, since there are too many. */
  readonly exact: boolean;
  readonly totals: OutcomeCounts & { readonly calls: number; readonly costMicros: number };
  /** Every bucket from `since` to `until`, those without calls too. */
  readonly series: readonly (OutcomeCounts & {
    readonly at: number;
    readonly calls: number;
    readonly costMicros: number;
    readonly p50Ms: number | undefined;
    readonly p95Ms: number | undefined;
  })[];
  readonly latency: Percentiles;
  readonly failingTools: readonly {
    readonly toolName: string;
    readonly failures: number;
    readonly calls: number;
    readonly topCode: string | undefined;
  }[];
  readonly codes: readonly {
    readonly code: string;
    readonly title: string | undefined;
    readonly count: number;
  }[];
  readonly budgets: readonly BudgetBurn[];
  /** As things stand now, whatever the time asked for. */
  readonly now: {
    readonly held: number;
    readonly open: number;
    readonly unresolved: number;
    readonly handedOff: number;
    /** False where there are more than were counted. */
    readonly exact: boolean;
  };
};

/** Calls by how they ended; `open` for those that have not. */
export type OutcomeCounts = {
  readonly succeeded: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly denied: number;
  readonly indeterminate: number;
  readonly open: number;
};

/** Of how long bodies took, to within a tenth. */
export type Percentiles = {
  readonly count: number;
  readonly p50Ms: number | undefined;
  readonly p90Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
};

/** How much of a budget is used, for those that calls drew on lately. */
export type BudgetBurn = {
  readonly counter: string;
  readonly metric: 'tool_calls' | 'cost_micros' | 'attempts';
  readonly used: number;
  readonly reserved: number;
  /** Where the server knows it. */
  readonly limit: number | undefined;
  readonly exhaustedAt: number | undefined;
};
