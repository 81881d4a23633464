import type { ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import type { Stop } from '../state/gate.ts';

/** The cost of one attempt in micro-units, as the tool states it, or a stop if the tool cannot state it. */
export type Cost =
  | { readonly type: 'known'; readonly costMicros: number }
  | { readonly type: 'unknown'; readonly stop: Stop };

export function costOf({ tool, input }: Pick<ReadyCall, 'tool' | 'input'>): Cost {
  const { costMicros } = tool;
  if (costMicros === undefined) return free;
  if (typeof costMicros === 'number') return { type: 'known', costMicros };
  let cost: unknown;
  try {
    cost = costMicros(inputForTool(tool.input, input));
  } catch {
    cost = undefined;
  }
  if (typeof cost === 'number' && Number.isSafeInteger(cost) && cost >= 0)
    return { type: 'known', costMicros: cost };
  const stop: Stop = {
    type: 'deny',
    reason: 'budget',
    code: 'budget.cost_exhausted',
    details: 'What the call costs could not be found out, so it was not run.',
    developer: `costMicros of the tool "${tool.name}" must give a whole number of at least 0, so nothing could be reserved.`,
  };
  return { type: 'unknown', stop };
}

const free: Cost = Object.freeze({ type: 'known', costMicros: 0 });

/** The cost as far as it is known. An attempt without a known cost counts as free. */
export function knownCost(live: Pick<ReadyCall, 'tool' | 'input'>): number {
  const cost = costOf(live);
  return cost.type === 'known' ? cost.costMicros : 0;
}
