import type { Findings, ReadyCall } from '../state/call-stages.ts';
import type { BudgetShare, ContractShare } from '../host/budget.ts';
import { noShares, sharesOf } from '../host/budget.ts';
import { contractShares, countedByEnd } from '../rules/contract-rules.ts';
import { costOf } from './cost.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';

/**
 * Is any budget left? This only reads the counters, so that no person is asked about a call that cannot run.
 * The reservation in the commit of the intent is what counts.
 */
export const limitsGate: Gate = {
  name: 'limits',
  check(live) {
    const { tool, policy, turn } = live;
    const cost = tool.costMicros === undefined ? undefined : costOf(live);
    if (cost?.type === 'unknown') return cost.stop;
    const costMicros = cost?.costMicros ?? 0;
    if (policy === undefined && turn.budgets.length === 0)
      return costMicros === 0 ? undefined : { type: 'found', found: { costMicros } };
    // The policy gate has already checked the limits of contracts.
    const limits = policy === undefined ? noShares : contractShares(live, policy);
    const counted = policy === undefined ? noShares : countedByEnd(live, policy);
    const found = { costMicros, counted, shares: limits };
    return turn.budgets.length === 0 ? { type: 'found', found } : look(live, found);
  },
};

type Limits = Pick<Findings, 'costMicros' | 'counted'> & { readonly shares: readonly ContractShare[] };

async function look({ engine, turn }: ReadyCall, limits: Limits): Promise<Verdict> {
  const shares = sharesOf(turn.budgets, limits.costMicros, true, engine.ledger.now());
  const found = { ...limits, shares: [...shares, ...limits.shares] };
  const counters = await engine.ledger.claims.readCounters(shares.map(({ counter }) => counter));
  for (const [index, share] of shares.entries()) {
    const { used, reserved } = counters[index] ?? { used: 0, reserved: 0 };
    if (used + reserved + share.amount > share.limit)
      return { type: 'stopped', stop: outOfBudget(share, used + reserved), found };
  }
  return { type: 'found', found };
}

/** The denial of a call that exceeds a budget. */
export function outOfBudget({ scope, label, metric, limit, amount }: BudgetShare, used: number): Stop {
  const unit = metric === 'tool_calls' ? 'tool calls' : 'micro-units of cost';
  const wants = metric === 'tool_calls' ? '' : ` and this call needs ${amount}`;
  return {
    type: 'deny',
    reason: 'budget',
    code: metric === 'tool_calls' ? 'budget.tool_calls_exhausted' : 'budget.cost_exhausted',
    details: `The budget ${label} allows ${limit} ${unit}; ${used} are used or reserved${wants}.`,
    exhausted: { scope, metric, limit, used },
  };
}
