/**
 * Counts of calls by their properties and outcome. Stores keep the counts with their read tables, so a total costs
 * the same for a hundred calls and for millions.
 */
import type { CallStatus } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ToolMode } from '../tool/mode.ts';
import type { CallSummary, SessionSummary, CallQuery } from './call-query.ts';

/**
 * The properties that calls are counted by. `hour` is that of the request, counted since 1970; `bin` is that of the
 * duration.
 */
export type TallyKey = {
  readonly hour: number;
  readonly toolName: string;
  readonly mode: ToolMode;
  readonly status: CallStatus;
  /** Empty for a call without an outcome. */
  readonly outcome: ToolOutcome['type'] | '';
  /** Empty if there is none. */
  readonly code: string;
  /** See `latencyBin`. */
  readonly bin: number;
};
export type TallyName = keyof TallyKey;

/** Times are in milliseconds since 1970 and are rounded to whole hours: `since` down, `until` up. */
export type TallyQuery<Name extends TallyName = TallyName> = {
  readonly by: readonly Name[];
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly toolName?: string | undefined;
  /** Rounds `hour` down to a multiple of this many hours. Default: 1. */
  readonly hourStep?: number | undefined;
};

/** One count for each existing combination of the requested properties, in no particular order. */
export type CallTally<Name extends TallyName = TallyName> = Readonly<Pick<TallyKey, Name>> & {
  readonly calls: number;
  /** Number of these calls whose effect may have happened and that are not resolved. */
  readonly unresolved: number;
  readonly costMicros: number;
};

export const hourMs = 3_600_000;
export const hourOf = (at: number): number => Math.floor(at / hourMs);

/** Each bin is a tenth wider than the one before. */
const binsPerE = 1 / Math.log(1.1);

/** The bin of a call's duration; -1 for calls whose body never ran, however long they took. */
export const latencyBin = ({ elapsedMs, attempts }: Pick<CallSummary, 'elapsedMs' | 'attempts'>): number =>
  elapsedMs === undefined || attempts === 0
    ? -1
    : Math.floor(Math.log(Math.max(elapsedMs, 1)) * binsPerE + rounding);

/** The middle of a bin, in milliseconds. */
export const latencyOfBin = (bin: number): number => Math.exp((bin + 0.5) / binsPerE);

/** The same in SQL, of a column in milliseconds and one that counts attempts. */
export const latencyBinSql = (elapsedMs: string, attempts: string): string =>
  `CASE WHEN ${elapsedMs} IS NULL OR ${attempts} = 0 THEN -1
     ELSE CAST(ln(max(${elapsedMs}, 1)) * ${binsPerE} + ${rounding} AS INTEGER) END`;

/** A power of 1.1 belongs to the bin it starts, however logarithms are rounded. */
const rounding = 1e-9;

/** The parts of a call that are counted. */
export type CountedCall = Pick<
  CallSummary,
  'requestedAt' | 'toolName' | 'mode' | 'status' | 'outcome' | 'code' | 'elapsedMs' | 'attempts'
> &
  Pick<CallSummary, 'unresolved' | 'costMicros'>;

export const tallyKeyOf = (call: CountedCall): TallyKey => ({
  hour: hourOf(call.requestedAt),
  toolName: call.toolName,
  mode: call.mode,
  status: call.status,
  outcome: call.outcome ?? '',
  code: call.code ?? '',
  bin: latencyBin(call),
});

/** Counts calls one by one: for stores without stored counts. */
export function tallyCalls<Name extends TallyName>(
  calls: Iterable<CallSummary>,
  { by, since, until, toolName, hourStep = 1 }: TallyQuery<Name>,
): readonly CallTally<Name>[] {
  const found = new Map<string, { key: TallyKey; calls: number; unresolved: number; costMicros: number }>();
  for (const call of calls) {
    const exact = tallyKeyOf(call);
    const key = { ...exact, hour: exact.hour - (exact.hour % hourStep) };
    if (toolName !== undefined && key.toolName !== toolName) continue;
    if (since !== undefined && exact.hour < hourOf(since)) continue;
    if (until !== undefined && exact.hour * hourMs >= until) continue;
    const name = JSON.stringify(by.map((each) => key[each]));
    const tally = found.get(name) ?? { key, calls: 0, unresolved: 0, costMicros: 0 };
    found.set(name, tally);
    tally.calls++;
    tally.costMicros += call.costMicros;
    if (call.unresolved) tally.unresolved++;
  }
  return [...found.values()].map(({ key, ...counts }) => ({
    // The key has exactly the requested names.
    ...(Object.fromEntries(by.map((each) => [each, key[each]])) as Pick<TallyKey, Name>),
    ...counts,
  }));
}

/** A summary that its owner updates in place. Before the first event `firstAt` is later than any time. */
export type SessionTally = { -readonly [Key in keyof SessionSummary]: SessionSummary[Key] };

export const newSessionTally = (sessionId: string): SessionTally => ({
  sessionId,
  calls: 0,
  openCalls: 0,
  failures: 0,
  denials: 0,
  unresolved: 0,
  firstAt: Number.MAX_SAFE_INTEGER,
  lastAt: 0,
});

/** Adds a call, or subtracts its old form before the new one is added. */
export function countCall(
  tally: SessionTally,
  call: Pick<CallSummary, 'status' | 'outcome' | 'unresolved'>,
  by: 1 | -1 = 1,
): void {
  tally.calls += by;
  if (call.status !== 'settled') tally.openCalls += by;
  if (call.outcome === 'ToolFailure' || call.outcome === 'ToolTimeout') tally.failures += by;
  if (call.outcome === 'ToolDenied') tally.denials += by;
  if (call.unresolved) tally.unresolved += by;
}

/** Records that something happened in the session. */
export function countEvent(tally: SessionTally, at: number): void {
  if (at < tally.firstAt) tally.firstAt = at;
  if (at > tally.lastAt) tally.lastAt = at;
}

export type TallyChange = TallyKey & { calls: number; unresolved: number; costMicros: number };

/** What a commit changes about the counts. Changes of calls with the same properties are one. */
export class TallyChanges {
  readonly #changes = new Map<string, TallyChange>();

  /** A call before and after a change: undefined if it was not there, or is removed. */
  add(before: CountedCall | undefined, after: CountedCall | undefined): void {
    if (before !== undefined) this.#count(before, -1);
    if (after !== undefined) this.#count(after, 1);
  }

  /** The changes so far, without those that cancel each other. Begins anew. */
  take(): readonly Readonly<TallyChange>[] {
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    return changes.filter(
      ({ calls, unresolved, costMicros }) => calls !== 0 || unresolved !== 0 || costMicros !== 0,
    );
  }

  #count(call: CountedCall, by: 1 | -1): void {
    const key = tallyKeyOf(call);
    const { hour, bin, mode, status, outcome, code, toolName } = key;
    const name = `${hour} ${bin} ${mode} ${status} ${outcome} ${code.length} ${code}${toolName}`;
    let change = this.#changes.get(name);
    if (change === undefined) {
      change = { ...key, calls: 0, unresolved: 0, costMicros: 0 };
      this.#changes.set(name, change);
    }
    change.calls += by;
    change.costMicros += by * call.costMicros;
    if (call.unresolved) change.unresolved += by;
  }
}

/** The columns of a store's table of tallies. */
export const tallyColumns: { readonly [Name in TallyName]: string } = {
  hour: 'hour',
  toolName: 'tool_name',
  bin: 'bin',
  code: 'code',
  outcome: 'outcome',
  mode: 'mode',
  status: 'status',
};

/**
 * Counts of calls, to the millisecond. Stores count rows of their read tables, so the cost grows with the number of
 * counted calls. Whole hours are cheaper: see `call-tally.ts`.
 */

export type CallCountQuery = Pick<CallQuery, 'since' | 'until' | 'toolName' | 'ruleId'> & {
  /** Width of the time steps. */
  readonly stepMs: number;
};

/** The calls with one combination of properties. */
export type CallCount = Omit<TallyKey, 'hour'> & {
  /** Start of the time step: a multiple of `stepMs`. */
  readonly at: number;
  readonly calls: number;
  readonly costMicros: number;
};

/** How many calls a rule denied, and when the newest of them was requested. */
export type RuleDenials = { readonly ruleId: string; readonly calls: number; readonly lastAt: number };

const isCounted = (call: CallSummary, { since, until, toolName, ruleId }: Partial<CallCountQuery>): boolean =>
  (since === undefined || call.requestedAt >= since) &&
  (until === undefined || call.requestedAt < until) &&
  (toolName === undefined || call.toolName === toolName) &&
  (ruleId === undefined || call.ruleId === ruleId);

/** Counts calls one by one: for stores without tables. */
export function countCalls(calls: Iterable<CallSummary>, query: CallCountQuery): readonly CallCount[] {
  const found = new Map<
    string,
    { key: Omit<CallCount, 'calls' | 'costMicros'>; calls: number; costMicros: number }
  >();
  for (const call of calls) {
    if (!isCounted(call, query)) continue;
    const { hour: _, ...properties } = tallyKeyOf(call);
    const key = { at: Math.floor(call.requestedAt / query.stepMs) * query.stepMs, ...properties };
    const name = JSON.stringify(Object.values(key));
    const count = found.get(name) ?? { key, calls: 0, costMicros: 0 };
    found.set(name, count);
    count.calls++;
    count.costMicros += call.costMicros;
  }
  return [...found.values()].map(({ key, ...counts }) => ({ ...key, ...counts }));
}

export function countDenials(
  calls: Iterable<CallSummary>,
  span: Pick<CallQuery, 'since' | 'until'>,
): readonly RuleDenials[] {
  const found = new Map<string, { calls: number; lastAt: number }>();
  for (const call of calls) {
    if (call.ruleId === undefined || !isCounted(call, span)) continue;
    const { calls: before, lastAt } = found.get(call.ruleId) ?? { calls: 0, lastAt: call.requestedAt };
    found.set(call.ruleId, { calls: before + 1, lastAt: Math.max(lastAt, call.requestedAt) });
  }
  return [...found].map(([ruleId, counts]) => ({ ruleId, ...counts }));
}
