import type { CallEvent, LogLine, ToolLate, ToolResponded } from 'quittance/internal/call/event';

/** One attempt of a call. */
export type Attempt = {
  readonly attempt: number;
  readonly startedAt: number | undefined;
  /** Undefined while it runs, or if its end was lost. */
  readonly ended: ToolResponded | undefined;
  readonly idempotencyKey: string | undefined;
  readonly worker: string | undefined;
  readonly reached: readonly string[];
  readonly log: readonly LogLine[];
  readonly late: readonly ToolLate[];
  /** Cost of this attempt alone. */
  readonly costMicros: number;
};

export function attemptsOf(events: readonly CallEvent[]): readonly Attempt[] {
  const attempts = new Map<number, Attempt>();
  const change = (attempt: number, more: (before: Attempt) => Partial<Attempt>): void => {
    const before = attempts.get(attempt) ?? {
      attempt,
      startedAt: undefined,
      ended: undefined,
      idempotencyKey: undefined,
      worker: undefined,
      reached: [],
      log: [],
      late: [],
      costMicros: 0,
    };
    attempts.set(attempt, { ...before, ...more(before) });
  };
  let spentMicros = 0;
  for (const event of events) {
    if (event.type === 'tool.started')
      change(event.attempt, () => ({ startedAt: event.at, idempotencyKey: event.idempotencyKey }));
    // Attempt 0 means that the body never ran.
    if (event.type === 'tool.responded' && event.attempt > 0) {
      // The final event carries the cost of all attempts.
      const before = event.final ? spentMicros : 0;
      change(event.attempt, () => ({
        ended: event,
        reached: event.reached,
        log: event.log,
        costMicros: Math.max(0, event.costMicros - before),
      }));
      spentMicros += event.costMicros;
    }
    if (event.type === 'tool.reported') change(event.attempt, () => ({ worker: event.worker }));
    if (event.type === 'tool.late') change(event.attempt, ({ late }) => ({ late: [...late, event] }));
  }
  return [...attempts.values()].toSorted((one, other) => one.attempt - other.attempt);
}
