/** A held call as a task of the protocol. */
import { timeText } from 'quittance/internal/base/deadlines';
import type { Call } from 'quittance/internal/call/call';
import type { ToolOutcome } from 'quittance/internal/call/outcome';

export const taskTtlMs: number = 24 * 3_600_000;
const taskPollMs = 2_000;

/** Nothing ran. A call that was cancelled while it ran has an unknown effect, and the result of the task tells that. */
export const isCancelled = (outcome: ToolOutcome): boolean =>
  'code' in outcome && outcome.code === 'tool.cancelled';

/** `resultType`: the answer to the call, or to a request about the task. */
export const toHeldTask = (
  taskId: string,
  {
    requestedAt,
    settled,
  }: Pick<Call, 'requestedAt'> & { readonly settled: { readonly at: number } | undefined },
  status: Readonly<Record<string, unknown>>,
  resultType: 'task' | 'complete' = 'complete',
): Record<string, unknown> => ({
  resultType,
  taskId,
  createdAt: timeText(requestedAt),
  lastUpdatedAt: timeText(settled?.at ?? requestedAt),
  ttlMs: taskTtlMs,
  pollIntervalMs: taskPollMs,
  ...status,
});
