/** Numbers over time, from counters in the read tables. */
import type { SpanQuery } from './page.ts';
import type { Integer, Timestamp } from './scalar.ts';

/** The query of `GET /v1/stats`: the last day of all tools by default. */
export type StatsQuery = SpanQuery & {
  /** @minimum 1 @maximum 500 */
  readonly buckets?: Integer;
  readonly toolName?: string;
};
/** `GET /v1/stats`. */
export type Stats = {
  readonly since: Timestamp;
  readonly until: Timestamp;
  readonly bucketMs: Integer;
  readonly totals: OutcomeCounts & { readonly calls: Integer; readonly costMicros: Integer };
  /** Every bucket from `since` to `until`, including empty ones. */
  readonly series: readonly StatsBucket[];
  readonly latency: Percentiles;
  /** Highest 95th percentile first, of tools that ran. */
  readonly slowTools: readonly {
    readonly toolName: string;
    readonly calls: Integer;
    readonly p50Ms: number | undefined;
    readonly p95Ms: number | undefined;
  }[];
  /** Tools with a cost, most expensive first. */
  readonly costlyTools: readonly {
    readonly toolName: string;
    readonly calls: Integer;
    readonly costMicros: Integer;
  }[];
  readonly failingTools: readonly {
    readonly toolName: string;
    readonly failures: Integer;
    readonly calls: Integer;
    readonly topCode: string | undefined;
  }[];
  readonly codes: readonly {
    readonly code: string;
    readonly title: string | undefined;
    readonly count: Integer;
    /** Did a gate stop these calls before they ran? */
    readonly denied: boolean;
    /** What to do about it. Missing for codes of tools. */
    readonly whatToDo: string | undefined;
    /** The tools with most of these calls. */
    readonly tools: readonly { readonly toolName: string; readonly count: Integer }[];
  }[];
  /** Rules that denied calls, most calls first. Empty if the numbers are those of one tool. */
  readonly rules: readonly {
    readonly ruleId: string;
    readonly calls: Integer;
    /** When the newest of these calls was requested. */
    readonly lastAt: Timestamp;
  }[];
  readonly budgets: readonly BudgetBurn[];
  /** The state now, independent of the requested time. */
  readonly now: {
    readonly held: Integer;
    readonly open: Integer;
    readonly unresolved: Integer;
    readonly handedOff: Integer;
    /** Held calls that wait longest, oldest first. */
    readonly waiting: readonly {
      readonly confirmationId: string;
      readonly toolName: string;
      readonly askedAt: Timestamp;
      readonly expiresAt: Timestamp | undefined;
    }[];
    /** Calls to reconcile that wait longest, oldest first. */
    readonly doubtful: readonly {
      readonly sessionId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly requestedAt: Timestamp;
    }[];
    /** False if there are more than were counted. */
    readonly exact: boolean;
  };
};
export type StatsBucket = OutcomeCounts & {
  readonly at: Timestamp;
  readonly calls: Integer;
  readonly costMicros: Integer;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
};

/** Calls by outcome; `open` calls have none yet. */
export type OutcomeCounts = {
  readonly succeeded: Integer;
  readonly failed: Integer;
  readonly timedOut: Integer;
  readonly denied: Integer;
  readonly indeterminate: Integer;
  readonly open: Integer;
};

/** Execution times, accurate to 10 %. */
export type Percentiles = {
  readonly count: Integer;
  readonly p50Ms: number | undefined;
  readonly p90Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
};

/** How much of a budget is used, for budgets that recent calls drew on. */
export type BudgetBurn = {
  readonly counter: string;
  readonly metric: 'tool_calls' | 'cost_micros' | 'attempts';
  readonly used: Integer;
  readonly reserved: Integer;
  /** Missing if the server does not know it. */
  readonly limit: Integer | undefined;
  readonly exhaustedAt: Timestamp | undefined;
};
