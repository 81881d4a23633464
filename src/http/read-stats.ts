/**
 * Numbers over a span of time. A long span is read from hourly counts. For a short span, hours are too coarse, so the
 * store counts its calls.
 */
import type { BoundedReads } from './bounded-reads.ts';
import type { RuleDenials } from '../ledger/call-count.ts';
import type { CallTally } from '../ledger/call-tally.ts';
import { hourMs } from '../ledger/call-tally.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import type { Stats } from './api/stats.ts';
import { readBudgets } from './read-budgets.ts';
import { readNow } from './read-now.ts';
import type { CountedTool } from './tool-counts.ts';
import { ToolCounts } from './tool-counts.ts';
import { Latencies, noOutcomeCounts, countedOutcome } from './count-outcomes.ts';
import type { MutableCounts } from './count-outcomes.ts';

/** The requested span. Default: the last day. */
export type AskedSpan = Omit<StatsRange, 'since' | 'until'> & {
  readonly since: number | undefined;
  readonly until: number | undefined;
};

/** The end is rounded up, so that requests a moment apart have the same span and share an answer. */
const roundMs = 2_000;

/** Fills in the defaults. */
export function spanOf(
  asked: { readonly since?: number | undefined; readonly until?: number | undefined },
  now: number,
): Pick<StatsRange, 'since' | 'until'> {
  const until = asked.until ?? Math.ceil((now + 1) / roundMs) * roundMs;
  return { since: asked.since ?? until - dayMs, until };
}

export type StatsRange = {
  readonly since: number;
  readonly until: number;
  readonly buckets: number;
  /** Only this tool. */
  readonly toolName: string | undefined;
};

/** Spans up to this long are counted to the millisecond. */
const shortSpanMs = 6 * hourMs;
/** The part of a short span that is counted at once: other requests run in between. */
const pieceOfShortMs = hourMs / 2;
const mostPieces = 40;

const dayMs = 24 * hourMs;
const longestMs = 30 * dayMs;
/** Bucket widths that people can read off a clock. */
const widths = [
  1_000,
  5_000,
  10_000,
  30_000,
  60_000,
  300_000,
  600_000,
  1_800_000,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  dayMs,
  7 * dayMs,
  longestMs,
] as const;

type Bucket = MutableCounts & {
  at: number;
  calls: number;
  costMicros: number;
  readonly latencies: Latencies;
};

/** Receives counts by time and counts by tool. No reader needs both in one. */
type Take = {
  readonly inTime: (
    counted: Pick<CallTally, 'outcome' | 'code' | 'bin' | 'calls' | 'costMicros'>,
    at: number,
  ) => void;
  readonly ofTool: (counted: CountedTool) => void;
};

export async function readStats(
  reads: BoundedReads,
  asked: StatsRange,
  budgets: readonly BudgetRule[],
): Promise<Stats> {
  const isShort = asked.until - asked.since <= shortSpanMs;
  // Hours are counted as a whole. The answer says so, and lists of the same calls begin at the same time.
  const span = isShort ? asked : { ...asked, since: Math.floor(asked.since / hourMs) * hourMs };
  const wanted = (span.until - span.since) / span.buckets;
  const bucketMs =
    widths.find((width) => width >= wanted && (isShort || width >= hourMs)) ??
    Math.ceil(wanted / longestMs) * longestMs;
  const first = Math.floor(span.since / bucketMs) * bucketMs;
  const buckets = new Map<number, Bucket>();
  for (let at = first; at < span.until; at += bucketMs) buckets.set(at, newBucket(at));

  const totals = { ...noOutcomeCounts(), calls: 0, costMicros: 0 };
  const latencies = new Latencies();
  const tools = new ToolCounts();
  const take: Take = {
    inTime({ outcome, code, bin, calls, costMicros }, at) {
      const word = countedOutcome({ outcome, code });
      const bucket = buckets.get(Math.floor(at / bucketMs) * bucketMs);
      for (const counts of bucket === undefined ? [totals] : [totals, bucket]) {
        counts[word] += calls;
        counts.calls += calls;
        counts.costMicros += costMicros;
      }
      latencies.add(bin, calls);
      bucket?.latencies.add(bin, calls);
    },
    ofTool: (counted) => tools.add(counted),
  };
  // Together: on a server, each question takes a round trip.
  const [rules, spent, now] = await Promise.all([
    // Rules do not belong to a tool.
    asked.toolName === undefined ? reads.ledger.queries.countDenials(span) : [],
    readBudgets(reads, budgets),
    readNow(reads),
    isShort ? countSteps(reads, span, bucketMs, take) : countHours(reads, span, bucketMs, take),
  ]);
  return {
    since: span.since,
    until: span.until,
    bucketMs,
    totals,
    series: [...buckets.values()].map(({ latencies: taken, ...bucket }) => ({
      ...bucket,
      p50Ms: taken.percentile(0.5),
      p95Ms: taken.percentile(0.95),
    })),
    latency: latencies.toPercentiles(),
    ...tools.toLists(),
    rules: rules.toSorted(byCalls),
    budgets: spent,
    now,
  };
}

/** Most calls first. */
const byCalls = (one: RuleDenials, other: RuleDenials): number =>
  other.calls - one.calls || (one.ruleId < other.ruleId ? -1 : 1);

const newBucket = (at: number): Bucket => ({
  ...noOutcomeCounts(),
  at,
  calls: 0,
  costMicros: 0,
  latencies: new Latencies(),
});

async function countSteps(
  reads: BoundedReads,
  { since, until, toolName }: StatsRange,
  stepMs: number,
  take: Take,
): Promise<void> {
  for (const [from, to] of cut(since, until, pieceOfShortMs)) {
    const range = { since: from, until: to, toolName };
    for (const count of await reads.ledger.queries.countCalls({ ...range, stepMs })) {
      take.inTime(count, count.at);
      take.ofTool(count);
    }
    await reads.pause();
  }
}

/** The ledger adds up the hours: one statement for the buckets and one for the tools. */
async function countHours(
  reads: BoundedReads,
  { since, until, toolName }: StatsRange,
  bucketMs: number,
  take: Take,
): Promise<void> {
  const { queries } = reads.ledger;
  const hourStep = bucketMs / hourMs;
  // A very long span is cut, so that other requests run in between.
  const pieceMs = Math.max(longestMs, bucketMs, Math.ceil((until - since) / mostPieces / dayMs) * dayMs);
  for (const [from, to] of cut(since, until, pieceMs)) {
    const range = { since: from, until: to, toolName };
    const [inTime, ofTools] = await Promise.all([
      queries.tallyCalls({ by: ['hour', 'outcome', 'code', 'bin'], hourStep, ...range }),
      queries.tallyCalls({ by: ['toolName', 'outcome', 'code', 'bin'], ...range }),
    ]);
    for (const tally of inTime) take.inTime(tally, tally.hour * hourMs);
    for (const tally of ofTools) take.ofTool(tally);
    await reads.pause();
  }
}

/**
 * Cuts a time span into pieces. Pieces of a day or more start and end with days, because days are counted as
 * a whole.
 */
function* cut(since: number, until: number, pieceMs: number): Generator<readonly [number, number], void> {
  for (let from = since; from < until;) {
    const to = Math.min((Math.floor(from / pieceMs) + 1) * pieceMs, until);
    yield [from, to];
    from = to;
  }
}
