/**
 * Budgets are counters in the ledger. In the commit of its intent, a call reserves a share of every budget
 * that covers it. So N parallel calls under a limit of K start at most K times. The outcome settles the
 * reservation.
 */
import { QuittanceError } from '../base/error.ts';
import type { BudgetMetric, EndMetric, TurnBudget } from '../call/events/gate-event.ts';
import type { ReservedShare } from '../call/events/attempt-event.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { Reservation, Settlement } from '../ledger/claims.ts';
import type { LimitShare } from '../policy/language/session-limits.ts';

/** A limit for one scope. A limit of N allows exactly N. */
export type BudgetRule = {
  /** `turn`, `session`, or a custom name such as `user:42`, shared by all who use it. */
  readonly scope: 'turn' | 'session' | (string & {});
  /** Resets each UTC day. */
  readonly per?: 'day';
  readonly toolCalls?: number;
  readonly costMicros?: number;
};

/** A rule with the name of its counter. */
export type Budget = TurnBudget;

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
              counter: `${name}/${metric}`,
              perDay,
              metric,
              limit,
            },
          ];
    });
  });
}

/** One budget per counter, the strictest: several rules about one counter count once. */
export function strictest(budgets: readonly Budget[]): readonly Budget[] {
  const byCounter = new Map<string, Budget>();
  for (const budget of budgets) {
    const name = `${budget.counter}/${budget.perDay ? 'day' : ''}`;
    const known = byCounter.get(name);
    if (known === undefined || budget.limit < known.limit) byCounter.set(name, budget);
  }
  return [...byCounter.values()];
}

/** The name of a budget in a denial. */
const labelOf = ({ scope, perDay }: Budget): string => {
  const whose = scope === 'turn' || scope === 'session' ? `of this ${scope}` : JSON.stringify(scope);
  return perDay ? `${whose}, per day,` : whose;
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

/** Refuses meaningless rules. */
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

/** The share of one attempt in one budget. */
export type BudgetShare = Reservation & Pick<Budget, 'metric' | 'scope'> & { readonly label: string };

/** The share of a call in the limit of a session rule. */
export type ContractShare = Reservation & {
  readonly metric: BudgetMetric | EndMetric;
  readonly limits: LimitShare;
};

/** One use of a grant. */
type GrantShare = Reservation & { readonly metric: BudgetMetric; readonly grantId: string };

export type Share = BudgetShare | ContractShare | GrantShare;

/**
 * The shares of one attempt in every budget. A second attempt of a call costs money but is not a second call.
 */
export function sharesOf(
  budgets: readonly Budget[],
  costMicros: number,
  firstAttempt: boolean,
  nowMs: number,
): readonly BudgetShare[] {
  if (budgets.length === 0) return noShares;
  const shares: BudgetShare[] = [];
  for (const budget of budgets) {
    const { metric, scope, limit, perDay, counter } = budget;
    if (metric === 'tool_calls' && !firstAttempt) continue;
    shares.push({
      metric,
      scope,
      label: labelOf(budget),
      limit,
      counter: perDay ? `${counter}/${new Date(nowMs).toISOString().slice(0, 10)}` : counter,
      amount: metric === 'tool_calls' ? 1 : costMicros,
    });
  }
  return shares;
}

export const noShares: readonly never[] = [];

const none: readonly never[] = Object.freeze([]);

/** Returns the shares of a call that never started. Only the count of judged calls stays. */
export const returnsFor = (shares: readonly ReservedShare[]): Settlement[] =>
  shares.filter(isReserved).map(({ counter, amount, metric }) => ({
    counter,
    reserved: amount,
    used: metric === 'attempts' ? amount : 0,
  }));

/** Returns the reservations and charges the actual cost of the attempt. */
export const settlementsFor = (shares: readonly ReservedShare[], costMicros: number): readonly Settlement[] =>
  shares.length === 0
    ? none
    : shares.filter(isReserved).map(({ counter, amount, metric }) => ({
        counter,
        reserved: amount,
        used: metric === 'cost_micros' ? costMicros : amount,
      }));

/** Counts the end of a call: a failure adds one, a success resets the counter of consecutive failures. */
export const countEnd = (
  shares: readonly ReservedShare[],
  end: 'succeeded' | 'failed',
): readonly Settlement[] =>
  shares.length === 0
    ? none
    : endCounts(shares).flatMap(({ counter, metric }) => {
        if (end === 'failed') return [{ counter, reserved: 0, used: 1 }];
        return metric === 'consecutive_failures'
          ? [{ counter, reserved: 0, used: 0, reset: true as const }]
          : [];
      });

/** The counters that the end of the call changes. */
export const endCounts = (shares: readonly ReservedShare[]): readonly ReservedShare[] =>
  shares.filter((share) => !isReserved(share));

/** True for a reserved share. The ends of calls are counted but reserve nothing. */
export const isReserved = ({ metric }: Pick<ReservedShare, 'metric'>): boolean =>
  metric !== 'failures' && metric !== 'consecutive_failures';
