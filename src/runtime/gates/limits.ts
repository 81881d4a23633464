import type { CallInHand } from '../state/call-in-hand.ts';
import type { BudgetShare, ContractShare } from '../host/budget.ts';
import { noShares, sharesOf } from '../host/budget.ts';
import { contractShares, countedByEnd } from '../rules/contract-rules.ts';
import { costOf } from './cost.ts';
import type { Gate, Stop } from '../state/gate.ts';

/**
 * Is anything left? Only a look, so that nobody is asked about a call that cannot run; what counts is the
 * reservation in the commit of the intent.
 */
export const limitsGate: Gate = {
  name: 'limits',
  check(hand) {
    if (hand.knownTool.costMicros !== undefined) {
      const cost = costOf(hand);
      if (typeof cost !== 'number') return cost;
      hand.costMicros = cost;
    }
    // The policy gate has looked at the limits of contracts.
    const limits = hand.policy === undefined ? noShares : contractShares(hand, hand.policy);
    hand.shares = limits;
    hand.counted = hand.policy === undefined ? noShares : countedByEnd(hand, hand.policy);
    return hand.turn.budgets.length === 0 ? undefined : look(hand, limits);
  },
};

async function look(hand: CallInHand, limits: readonly ContractShare[]): Promise<Stop | undefined> {
  const { engine, turn } = hand;
  const shares = sharesOf(turn.budgets, hand.costMicros, true, engine.ledger.now());
  hand.shares = [...shares, ...limits];
  const counters = await engine.ledger.claims.readCounters(shares.map(({ counter }) => counter));
  for (const [index, share] of shares.entries()) {
    const { used, reserved } = counters[index] ?? { used: 0, reserved: 0 };
    if (used + reserved + share.amount > share.limit) return outOfBudget(share, used + reserved);
  }
  return undefined;
}

/** The denial of a call for which a budget has too little left. */
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
