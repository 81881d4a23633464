/**
 * Counts of calls, to the millisecond. Stores count rows of their read tables, so the cost grows with the number of
 * counted calls. Whole hours are cheaper: see `call-tally.ts`.
 */
import type { CallQuery, CallSummary } from './call-query.ts';
import type { TallyKey } from './call-tally.ts';
import { tallyKeyOf } from './call-tally.ts';

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
