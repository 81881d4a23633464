/**
 * Numbers over a span of time. A long span is read from hourly counts. For a short span, hours are too coarse, so its
 * calls are counted, up to a limit.
 */
import type { BoundedReads } from './bounded-reads.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import type { CallTally } from '../ledger/call-tally.ts';
import { hourMs, tallyKeyOf } from '../ledger/call-tally.ts';
import type { BudgetRule } from '../runtime/host/budget.ts';
import { isHandoff } from '../call/handoff.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { Stats } from './api/stats.ts';
import { readBudgets } from './read-budgets.ts';
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

/** Spans up to this long are counted call by call. */
const shortSpanMs = 6 * hourMs;
const mostCounted = 20_000;
const mostHeld = 1_000;
const mostSteps = 2_000;

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
type Numbers = Pick<CallTally, 'outcome' | 'code' | 'calls'>;
/** Receives counts by time and counts by tool. No reader needs both in one. */
type Take = {
  readonly inTime: (counted: Numbers & Pick<CallTally, 'bin' | 'costMicros'>, at: number) => void;
  readonly ofTool: (counted: Numbers & Pick<CallTally, 'toolName'>) => void;
};

export async function readStats(
  reads: BoundedReads,
  span: StatsRange,
  budgets: readonly BudgetRule[],
): Promise<Stats> {
  const isShort = span.until - span.since <= shortSpanMs;
  const wanted = (span.until - span.since) / span.buckets;
  const bucketMs =
    widths.find((width) => width >= wanted && (isShort || width >= hourMs)) ??
    Math.ceil(wanted / longestMs) * longestMs;
  const first = Math.floor(span.since / bucketMs) * bucketMs;
  const buckets = new Map<number, Bucket>();
  for (let at = first; at < span.until; at += bucketMs) buckets.set(at, newBucket(at));

  const totals = { ...noOutcomeCounts(), calls: 0, costMicros: 0 };
  const latencies = new Latencies();
  const tools = new Map<string, { calls: number; failures: number; readonly codes: Map<string, number> }>();
  const codes = new Map<string, number>();
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
      if (code !== '') codes.set(code, (codes.get(code) ?? 0) + calls);
    },
    ofTool({ toolName, outcome, code, calls }) {
      const word = countedOutcome({ outcome, code });
      const tool = tools.get(toolName) ?? { calls: 0, failures: 0, codes: new Map<string, number>() };
      tools.set(toolName, tool);
      tool.calls += calls;
      if (word !== 'failed' && word !== 'timedOut' && word !== 'indeterminate') return;
      tool.failures += calls;
      tool.codes.set(code, (tool.codes.get(code) ?? 0) + calls);
    },
  };
  const exact = isShort ? await countCalls(reads, span, take) : await countHours(reads, span, bucketMs, take);
  return {
    since: span.since,
    until: span.until,
    bucketMs,
    exact,
    totals,
    series: [...buckets.values()].map(({ latencies: taken, ...bucket }) => ({
      ...bucket,
      p50Ms: taken.percentile(0.5),
      p95Ms: taken.percentile(0.95),
    })),
    latency: latencies.toPercentiles(),
    failingTools: [...tools]
      .filter(([, { failures }]) => failures > 0)
      .toSorted(([, one], [, other]) => other.failures - one.failures)
      .slice(0, 10)
      .map(([toolName, { calls, failures, codes: why }]) => ({
        toolName,
        failures,
        calls,
        topCode: [...why].toSorted(([, one], [, other]) => other - one)[0]?.[0],
      })),
    codes: [...codes]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, 20)
      .map(([code, count]) => ({
        code,
        title: isReasonCode(code) ? reasonOf(code).title : undefined,
        count,
      })),
    budgets: await readBudgets(reads, budgets),
    now: await readNow(reads),
  };
}

const newBucket = (at: number): Bucket => ({
  ...noOutcomeCounts(),
  at,
  calls: 0,
  costMicros: 0,
  latencies: new Latencies(),
});

async function countCalls(
  reads: BoundedReads,
  { since, until, toolName }: StatsRange,
  take: Take,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let seen = 0; seen < mostCounted;) {
    const page = await reads.ledger.queries.findCalls({ since, until, toolName, limit: 500, cursor });
    for (const call of page.rows) {
      const counted = { ...tallyKeyOf(call), calls: 1, costMicros: call.costMicros };
      take.inTime(counted, call.requestedAt);
      take.ofTool(counted);
    }
    seen += page.rows.length;
    cursor = page.next;
    if (cursor === undefined) return true;
    await reads.pause();
  }
  return false;
}

/** The ledger adds up the hours, one day of a bucket at a time, so that other requests run in between. */
async function countHours(
  reads: BoundedReads,
  { since, until, toolName }: StatsRange,
  bucketMs: number,
  take: Take,
): Promise<boolean> {
  const stepMs = Math.max(1, Math.ceil((until - since) / mostSteps / dayMs)) * dayMs;
  for (const [from, to] of cut(since, until, Math.min(stepMs, bucketMs))) {
    const at = Math.floor(from / bucketMs) * bucketMs;
    const by = ['outcome', 'code', 'bin'] as const;
    for (const tally of await reads.ledger.queries.tallyCalls({ by, since: from, until: to, toolName }))
      take.inTime(tally, at);
    await reads.pause();
  }
  for (const [from, to] of cut(since, until, Math.max(stepMs, longestMs))) {
    const by = ['toolName', 'outcome', 'code'] as const;
    for (const tally of await reads.ledger.queries.tallyCalls({ by, since: from, until: to, toolName }))
      take.ofTool(tally);
    await reads.pause();
  }
  return true;
}

/**
 * Cuts a time span into pieces. Pieces of a day or more start and end with days, because days are counted as
 * a whole.
 */
function* cut(since: number, until: number, pieceMs: number): Generator<readonly [number, number], void> {
  for (let from = Math.floor(since / hourMs) * hourMs; from < until;) {
    const to = Math.min((Math.floor(from / pieceMs) + 1) * pieceMs, until);
    yield [from, to];
    from = to;
  }
}

async function readNow(reads: BoundedReads): Promise<Stats['now']> {
  const { ledger } = reads;
  const statuses = await ledger.queries.tallyCalls({ by: ['status'] });
  const held = await ledger.queries.findConfirmations({ status: 'pending', limit: mostHeld });
  const isRunning = statuses.some(({ status, calls }) => status === 'running' && calls > 0);
  const handedOff = isRunning ? await countHandedOff(reads) : { count: 0, exact: true };
  return {
    held: held.rows.length,
    open: statuses.reduce((sum, { status, calls }) => sum + (status === 'settled' ? 0 : calls), 0),
    unresolved: statuses.reduce((sum, { unresolved }) => sum + unresolved, 0),
    handedOff: handedOff.count,
    exact: held.next === undefined && handedOff.exact,
  };
}

/** The number of running calls that another process runs. Only their events tell. */
async function countHandedOff(
  reads: BoundedReads,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  const { rows, next } = await reads.ledger.queries.findCalls({
    status: 'running',
    limit: mostRunning,
    scan: mostCounted,
  });
  let count = 0;
  let isWhole = next === undefined;
  for (const row of rows) {
    const stored = await reads.call(row);
    if (stored === 'large') isWhole = false;
    const call = stored === 'large' || stored === undefined ? undefined : foldStored(stored);
    if (call !== undefined && isHandoff(call)) count++;
  }
  return { count, exact: isWhole };
}

const mostRunning = 500;
