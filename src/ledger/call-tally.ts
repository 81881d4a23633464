/**
 * Counts of calls by their properties and outcome. Stores keep the counts with their read tables, so a total costs
 * the same for a hundred calls and for millions.
 */
import type { CallStatus } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ToolMode } from '../tool/mode.ts';
import type { CallSummary } from './call-query.ts';

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

export const tallyKeyOf = (call: CallSummary): TallyKey => ({
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
    // Exactly the requested names.
    ...(Object.fromEntries(by.map((each) => [each, key[each]])) as Pick<TallyKey, Name>),
    ...counts,
  }));
}
