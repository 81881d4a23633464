import type { AnyTool } from '../tool/define-tool.ts';
import type { Stop } from './gates/gate.ts';

/** What a tool says one attempt costs, in micro-units; a stop where it cannot say. */
export function costOf(tool: AnyTool, executedInput: unknown): number | Stop {
  const { costMicros } = tool;
  if (costMicros === undefined) return 0;
  if (typeof costMicros === 'number') return costMicros;
  let cost: unknown;
  try {
    cost = costMicros(executedInput);
  } catch {
    cost = undefined;
  }
  if (typeof cost === 'number' && Number.isSafeInteger(cost) && cost >= 0) return cost;
  return {
    type: 'deny',
    reason: 'budget',
    code: 'budget.cost_exhausted',
    details: `costMicros of the tool "${tool.name}" must give a whole number of at least 0, so nothing could be reserved.`,
  };
}
