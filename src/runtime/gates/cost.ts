import type { CallInHand } from '../state/call-in-hand.ts';
import type { Stop } from '../state/gate.ts';

/** What a tool says one attempt costs, in micro-units; a stop where it cannot say. */
export function costOf(hand: CallInHand): number | Stop {
  const { knownTool: tool } = hand;
  const { costMicros } = tool;
  if (costMicros === undefined) return 0;
  if (typeof costMicros === 'number') return costMicros;
  let cost: unknown;
  try {
    cost = costMicros(hand.handOut());
  } catch {
    cost = undefined;
  }
  if (typeof cost === 'number' && Number.isSafeInteger(cost) && cost >= 0) return cost;
  return {
    type: 'deny',
    reason: 'budget',
    code: 'budget.cost_exhausted',
    details: 'What the call costs could not be found out, so it was not run.',
    developer: `costMicros of the tool "${tool.name}" must give a whole number of at least 0, so nothing could be reserved.`,
  };
}
