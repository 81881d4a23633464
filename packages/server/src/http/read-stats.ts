/**
 * Numbers over a span of time. A long span is read from hourly counts. For a short span, hours are too coarse, so the
 * store counts its calls.
 */
import type { BoundedReads } from './bounded-reads.ts';
import type { RuleDenials, CallTally } from 'quittance/internal/ledger/call-tally';
import { hourMs } from 'quittance/internal/ledger/call-tally';
import type { BudgetRule, Budget } from 'quittance/internal/runtime/budget';
import type { Stats, BudgetBurn } from './api/stats.ts';
import { Latencies, noOutcomeCounts, countedOutcome } from './count-outcomes.ts';
import type { MutableCounts } from './count-outcomes.ts';
import { bindBudgets } from 'quittance/internal/runtime/budget';
import { isHandoff } from 'quittance/internal/call/call';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { isReasonCode, reasonOf } from 'quittance/internal/call/reason';
import { readDenials, readCallCounts, findCalls, readCounters } from 'quittance/internal/ledger/reads';
import { readTallies, findConfirmations } from 'quittance/internal/ledger/reads';

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

type StatsRange = {
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
    asked.toolName === undefined ? readDenials(reads.ledger, span) : [],
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
    for (const count of await readCallCounts(reads.ledger, { ...range, stepMs })) {
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
  const { ledger } = reads;
  const hourStep = bucketMs / hourMs;
  // A very long span is cut, so that other requests run in between.
  const pieceMs = Math.max(longestMs, bucketMs, Math.ceil((until - since) / mostPieces / dayMs) * dayMs);
  for (const [from, to] of cut(since, until, pieceMs)) {
    const range = { since: from, until: to, toolName };
    const [inTime, ofTools] = await Promise.all([
      readTallies(ledger, { by: ['hour', 'outcome', 'code', 'bin'], hourStep, ...range }),
      readTallies(ledger, { by: ['toolName', 'outcome', 'code', 'bin'], ...range }),
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

/** Usage of budgets: those of the server, and those that the newest calls drew on. */

const mostBudgets = 50;
const newestCalls = 100;

async function readBudgets(
  reads: BoundedReads,
  rules: readonly BudgetRule[],
): Promise<readonly BudgetBurn[]> {
  const { ledger } = reads;
  const known = bindBudgets(rules, '', '');
  const today = new Date(ledger.now()).toISOString().slice(0, 10);
  const drawn = new Map<string, BudgetBurn['metric']>();
  for (const { counter, metric, perDay, scope } of known)
    if (scope !== 'turn' && scope !== 'session') drawn.set(perDay ? `${counter}/${today}` : counter, metric);
  const spent = new Map<string, BudgetBurn>();
  const { rows } = await findCalls(ledger, { limit: newestCalls });
  for (const stored of await reads.calls(rows))
    for (const event of stored === 'large' || stored === undefined ? [] : stored.events) {
      if (event.type === 'tool.started')
        for (const { counter, metric } of event.reserved)
          if (drawn.size < mostBudgets && metric !== 'failures' && metric !== 'consecutive_failures')
            drawn.set(counter, metric);
      if (event.type === 'runtime.budget_exhausted' && !spent.has(event.scope)) {
        const { scope, metric, used, limit, at } = event;
        spent.set(scope, { counter: scope, metric, used, reserved: 0, limit, exhaustedAt: at });
      }
    }
  const names = [...drawn];
  const counters = await readCounters(
    ledger,
    names.map(([counter]) => counter),
  );
  return [
    ...spent.values(),
    ...names.map(([counter, metric], index) => ({
      counter,
      metric,
      ...(counters[index] ?? { used: 0, reserved: 0 }),
      limit: limitOf(counter, metric, known),
      exhaustedAt: undefined,
    })),
  ];
}

/** The lowest limit of any rule for a counter. */
function limitOf(
  counter: string,
  metric: BudgetBurn['metric'],
  known: readonly Budget[],
): number | undefined {
  const limits = known
    .filter((budget) => budget.metric === metric && isOf(counter, budget))
    .map(({ limit }) => limit);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function isOf(counter: string, { counter: name, scope, metric, perDay }: Budget): boolean {
  const bare = counter.replace(/\/\d{4}-\d\d-\d\d$/, '');
  if ((bare !== counter) !== perDay) return false;
  // Each session and each turn has its own counter.
  return scope === 'session' || scope === 'turn'
    ? bare.startsWith(`${scope}/`) && bare.endsWith(`/${metric}`)
    : bare === name;
}

/** What waits right now: for a decision, for a resolution, for another process. */

const mostHeld = 1_000;
const mostRunning = 500;
/** Running calls are rare, so that few rows are looked at. */
const mostScanned = 20_000;
/** Waiting calls that are named. */
const mostNamed = 5;

async function readNow(reads: BoundedReads): Promise<Stats['now']> {
  const { ledger } = reads;
  const [statuses, held] = await Promise.all([
    readTallies(ledger, { by: ['status'] }),
    findConfirmations(ledger, { status: 'pending', limit: mostHeld }),
  ]);
  const unresolved = statuses.reduce((sum, each) => sum + each.unresolved, 0);
  const isRunning = statuses.some(({ status, calls }) => status === 'running' && calls > 0);
  const [handedOff, doubtful] = await Promise.all([
    isRunning ? countHandedOff(reads) : { count: 0, exact: true },
    unresolved === 0 ? undefined : findCalls(ledger, { unresolved: true, limit: mostHeld }),
  ]);
  return {
    held: held.rows.length,
    open: statuses.reduce((sum, { status, calls }) => sum + (status === 'settled' ? 0 : calls), 0),
    unresolved,
    handedOff: handedOff.count,
    waiting: oldest(held.rows).map(({ confirmationId, toolName, askedAt, expiresAt }) => ({
      confirmationId,
      toolName,
      askedAt,
      expiresAt,
    })),
    doubtful: oldest(doubtful?.rows ?? []).map(({ sessionId, callId, toolName, requestedAt }) => ({
      sessionId,
      callId,
      toolName,
      requestedAt,
    })),
    exact: held.next === undefined && handedOff.exact,
  };
}

/** Lists are newest first. */
const oldest = <Row>(rows: readonly Row[]): readonly Row[] => rows.slice(-mostNamed).reverse();

/** The number of running calls that another process runs. Only their events tell. */
async function countHandedOff(
  reads: BoundedReads,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  const { rows, next } = await findCalls(reads.ledger, {
    status: 'running',
    limit: mostRunning,
    scan: mostScanned,
  });
  let count = 0;
  let isWhole = next === undefined;
  for (const stored of await reads.calls(rows)) {
    if (stored === 'large') isWhole = false;
    const call = stored === 'large' || stored === undefined ? undefined : foldStored(stored);
    if (call !== undefined && isHandoff(call)) count++;
  }
  return { count, exact: isWhole };
}

/** Adds up calls by tool and by reason, and ranks them. */

type CountedTool = Pick<CallTally, 'toolName' | 'outcome' | 'code' | 'bin' | 'calls' | 'costMicros'>;

type OfTool = {
  calls: number;
  failures: number;
  costMicros: number;
  readonly latencies: Latencies;
  readonly codes: Map<string, number>;
};
type OfCode = { count: number; denied: boolean; readonly tools: Map<string, number> };

const mostTools = 10;
const mostCodes = 20;
const mostToolsOfCode = 3;

class ToolCounts {
  readonly #tools = new Map<string, OfTool>();
  readonly #codes = new Map<string, OfCode>();

  add({ toolName, outcome, code, bin, calls, costMicros }: CountedTool): void {
    const word = countedOutcome({ outcome, code });
    const tool = this.#tools.get(toolName) ?? newTool();
    this.#tools.set(toolName, tool);
    tool.calls += calls;
    tool.costMicros += costMicros;
    tool.latencies.add(bin, calls);
    if (code !== '') {
      const ofCode = this.#codes.get(code) ?? { count: 0, denied: word === 'denied', tools: new Map() };
      this.#codes.set(code, ofCode);
      ofCode.count += calls;
      increase(ofCode.tools, toolName, calls);
    }
    if (word !== 'failed' && word !== 'timedOut' && word !== 'indeterminate') return;
    tool.failures += calls;
    increase(tool.codes, code, calls);
  }

  toLists(): Pick<Stats, 'slowTools' | 'costlyTools' | 'failingTools' | 'codes'> {
    const tools = [...this.#tools].map(([toolName, tool]) => ({ toolName, ...tool }));
    return {
      slowTools: tools
        .map(({ toolName, latencies }) => {
          const { count, p50Ms, p95Ms } = latencies.toPercentiles();
          return { toolName, calls: count, p50Ms, p95Ms };
        })
        .filter(({ calls }) => calls > 0)
        .toSorted(
          (one, other) => (other.p95Ms ?? 0) - (one.p95Ms ?? 0) || (one.toolName < other.toolName ? -1 : 1),
        )
        .slice(0, mostTools),
      costlyTools: tools
        .filter(({ costMicros }) => costMicros > 0)
        .toSorted((one, other) => other.costMicros - one.costMicros)
        .slice(0, mostTools)
        .map(({ toolName, calls, costMicros }) => ({ toolName, calls, costMicros })),
      failingTools: tools
        .filter(({ failures }) => failures > 0)
        .toSorted((one, other) => other.failures - one.failures)
        .slice(0, mostTools)
        .map(({ toolName, calls, failures, codes }) => ({
          toolName,
          failures,
          calls,
          topCode: ranked(codes)[0]?.[0],
        })),
      codes: [...this.#codes]
        .toSorted(([, one], [, other]) => other.count - one.count)
        .slice(0, mostCodes)
        .map(([code, { count, denied, tools: ofCode }]) => ({
          code,
          title: isReasonCode(code) ? reasonOf(code).title : undefined,
          count,
          denied,
          whatToDo: isReasonCode(code) ? reasonOf(code).whatToDo : undefined,
          tools: ranked(ofCode)
            .slice(0, mostToolsOfCode)
            .map(([toolName, calls]) => ({ toolName, count: calls })),
        })),
    };
  }
}

const newTool = (): OfTool => ({
  calls: 0,
  failures: 0,
  costMicros: 0,
  latencies: new Latencies(),
  codes: new Map(),
});

const increase = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by);
};

/** Most frequent first. */
const ranked = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].toSorted(([, one], [, other]) => other - one);
