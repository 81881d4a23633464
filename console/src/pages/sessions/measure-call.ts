import type { TimelineSpan } from '../../../../src/http/api/session.ts';

export type CallTimes = { readonly totalMs: number; readonly heldMs: number; readonly ranMs: number };

/** How long a call took, from being asked for to its end or now, and what of it was a person's and the body's. */
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
