import type { ToolOutcome } from './outcome.ts';

/**
 * How counters of failures count the end of a body. They follow the success check: anything not known to have
 * succeeded has failed. A cancelled call says nothing about its tool.
 */
export function countedEnd(
  outcome: ToolOutcome,
  toolSuccess: boolean | undefined,
): 'succeeded' | 'failed' | undefined {
  if (toolSuccess === true) return 'succeeded';
  return outcome.type === 'ToolFailure' && outcome.code === 'tool.cancelled' ? undefined : 'failed';
}
