import type { ToolOutcome } from './outcome.ts';

/**
 * What counters of failures make of the end of a body. They follow the success check, and what is not known to have
 * succeeded has failed. A call that was cancelled says nothing about its tool.
 */
export function countedEnd(
  outcome: ToolOutcome,
  toolSuccess: boolean | undefined,
): 'succeeded' | 'failed' | undefined {
  if (toolSuccess === true) return 'succeeded';
  return outcome.type === 'ToolFailure' && outcome.code === 'tool.cancelled' ? undefined : 'failed';
}
