/**
 * Budgets are counters in the ledger. A call reserves under every budget that covers it in the commit of its
 * intent, so that N parallel calls under a limit of K start at most K times, and settles with its outcome.
 */
import { QuittanceError } from '../../base/error.ts';
import type { BudgetMetric, EndMetric, ReservedShare } from '../../call/event.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { Reservation, Settlement } from '../../ledger/claims.ts';
import type { LimitShare } from '../../policy/judge/compile-policy.ts';

/** How much may be used under one name. Exactly N allows N. */
export type BudgetRule = {
  /** `turn`, `session`, or a name of your own such as `user:42`, shared by all who use it. */
  readonly scope: 'turn' | 'session' | (string & {});
  /** Starts anew each UTC day. */
  readonly per?: 'day';
  readonly toolCalls?: number;
  readonly costMicros?: number;
};

/** A rule bound to its counter's name. */
export type Budget = {
  readonly scope: string;
  /** As a denial names it. */
  readonly label: string;
  readonly counter: string;
  readonly perDay: boolean;
  readonly metric: BudgetMetric;
  readonly limit: number;
};

const metrics = [
  ['toolCalls', 'tool_calls'],
  ['costMicros', 'cost_micros'],
] as const;

const knownKeys = ['scope', 'per', 'toolCalls', 'costMicros'] as const;

export function bindBudgets(
  rules: readonly BudgetRule[],
  sessionId: string,
  turnId: string,
): readonly Budget[] {
  return rules.flatMap((rule) => {
    const name = counterName(rule.scope, sessionId, turnId);
    return metrics.flatMap(([field, metric]) => {
      const limit = rule[field];
      const perDay = rule.per === 'day';
      return limit === undefined
        ? []
        : [
            {
              scope: rule.scope,
              label: labelOf(rule),
              counter: `${name}/${metric}`,
              perDay,
              metric,
              limit,
            },
          ];
    });
  });
}

/** One budget per counter, the strictest: what several rules say about one thing is counted once. */
export function strictest(budgets: readonly Budget[]): readonly Budget[] {
  const byCounter = new Map<string, Budget>();
  for (const budget of budgets) {
    const name = `${budget.counter}/${budget.perDay ? 'day' : ''}`;
    const known = byCounter.get(name);
    if (known === undefined || budget.limit < known.limit) byCounter.set(name, budget);
  }
  return [...byCounter.values()];
}

const labelOf = ({ scope, per }: BudgetRule): string => {
  const whose = scope === 'turn' || scope === 'session' ? `of this ${scope}` : JSON.stringify(scope);
  return per === 'day' ? `${whose}, per day,` : whose;
};

function counterName(scope: string, sessionId: string, turnId: string): string {
  switch (scope) {
    case 'turn':
      return `turn/${JSON.stringify([sessionId, turnId])}`;
    case 'session':
      return `session/${JSON.stringify(sessionId)}`;
    default:
      return `named/${JSON.stringify(scope)}`;
  }
}

/** Refuses rules that cannot mean anything. */
export function checkBudgets(rules: readonly BudgetRule[] | undefined): void {
  if (rules === undefined) return;
  if (!Array.isArray(rules))
    throw new QuittanceError(
      'config.invalid',
      'budgets must be an array, e.g. [{ scope: "turn", toolCalls: 10 }].',
    );
  for (const rule of rules) checkRule(rule);
}

function checkRule(rule: BudgetRule): void {
  if (typeof rule?.scope !== 'string' || rule.scope === '')
    throw new QuittanceError(
      'config.invalid',
      'A budget needs a scope: "turn", "session" or a name such as "user:42".',
    );
  const where = `Budget for scope ${JSON.stringify(rule.scope)}`;
  checkKeys('A budget', rule, knownKeys);
  if (rule.per !== undefined && rule.per !== 'day')
    throw new QuittanceError(
      'config.invalid',
      `${where}: "per" may only be "day", found ${JSON.stringify(rule.per)}.`,
    );
  if (rule.toolCalls === undefined && rule.costMicros === undefined)
    throw new QuittanceError(
      'config.invalid',
      `${where} limits nothing. Give toolCalls, costMicros or both.`,
    );
  for (const [field] of metrics) {
    const limit = rule[field];
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0))
      throw new QuittanceError(
        'config.invalid',
        `${where}: ${field} must be a whole number of at least 0, found ${String(limit)}.`,
      );
  }
}

/** What one attempt takes from one budget. */
export type BudgetShare = Reservation & Pick<Budget, 'metric' | 'scope' | 'label'>;

/** What a call takes from what a session rule allows. */
export type ContractShare = Reservation & {
  readonly metric: BudgetMetric | EndMetric;
  readonly limits: LimitShare;
};

/** One of the times a standing permission may be used. */
export type GrantShare = Reservation & { readonly metric: BudgetMetric; readonly grantId: string };

export type Share = BudgetShare | ContractShare | GrantShare;

/** What one attempt takes from every budget. A second attempt of a call costs money but is no second call. */
export function sharesOf(
  budgets: readonly Budget[],
  costMicros: number,
  firstAttempt: boolean,
  nowMs: number,
): readonly BudgetShare[] {
  if (budgets.length === 0) return noShares;
  const shares: BudgetShare[] = [];
  for (const { metric, scope, label, limit, perDay, counter } of budgets) {
    if (metric === 'tool_calls' && !firstAttempt) continue;
    shares.push({
      metric,
      scope,
      label,
      limit,
      counter: perDay ? `${counter}/${new Date(nowMs).toISOString().slice(0, 10)}` : counter,
      amount: metric === 'tool_calls' ? 1 : costMicros,
    });
  }
  return shares;
}

export const noShares: readonly never[] = [];

/** What is given back where nobody began what was reserved for: only that rules have looked at the call counts. */
export const returnsFor = (shares: readonly ReservedShare[]): Settlement[] =>
  shares.filter(isTaken).map(({ counter, amount, metric }) => ({
    counter,
    reserved: amount,
    used: metric === 'attempts' ? amount : 0,
  }));

/** Gives the reservations back and charges what the attempt really cost. */
export const settlementsFor = (shares: readonly ReservedShare[], costMicros: number): Settlement[] =>
  shares.filter(isTaken).map(({ counter, amount, metric }) => ({
    counter,
    reserved: amount,
    used: metric === 'cost_micros' ? costMicros : amount,
  }));

/** Counts how the call ended: a failure adds one, a success sets back what counts failures in a row. */
export const countEnd = (shares: readonly ReservedShare[], end: 'succeeded' | 'failed'): Settlement[] =>
  endCounts(shares).flatMap(({ counter, metric }) => {
    if (end === 'failed') return [{ counter, reserved: 0, used: 1 }];
    return metric === 'consecutive_failures' ? [{ counter, reserved: 0, used: 0, reset: true as const }] : [];
  });

/** What the end of the call counts. */
export const endCounts = (shares: readonly ReservedShare[]): readonly ReservedShare[] =>
  shares.filter((share) => !isTaken(share));

/** Whether anything is reserved of it: how a call ends is counted and takes nothing. */
export const isTaken = ({ metric }: Pick<ReservedShare, 'metric'>): boolean =>
  metric !== 'failures' && metric !== 'consecutive_failures';
