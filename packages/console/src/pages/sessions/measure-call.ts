import type { TimelineSpan } from '@quittance/server/internal/http/api/session';

export type CallTimes = { readonly totalMs: number; readonly heldMs: number; readonly ranMs: number };

/** Total time of a call, and the parts spent waiting for a person and running. */
export function measureCall(spans: readonly TimelineSpan[], now: number): CallTimes {
  const sum = (kind: TimelineSpan['kind']): number =>
    spans.reduce((total, span) => total + (span.kind === kind ? lengthOf(span, now) : 0), 0);
  return {
    totalMs: spans.reduce((total, span) => total + lengthOf(span, now), 0),
    heldMs: sum('held'),
    ranMs: sum('running'),
  };
}

const lengthOf = ({ from, to }: TimelineSpan, now: number): number => Math.max(0, (to ?? now) - from);
