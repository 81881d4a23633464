/** The calls of a session as bars in time, in parallel lanes if they overlap. */
import type { Call } from '../call/call.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { CallSummary } from '../ledger/call-query.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { Timeline, TimelineCall, TimelineSpan } from './api/session.ts';
import { causeIn, relatedTo } from './read-call-detail.ts';
import type { RelatedCall } from './api/call.ts';

export async function readTimeline(
  reads: BoundedReads,
  sessionId: string,
  page: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Timeline> {
  const { ledger } = reads;
  const { rows, next } = await ledger.queries.findCalls({ sessionId, ...page });
  const bars: Omit<TimelineCall, 'lane'>[] = [];
  const callOf = new Map<string, string>();
  const causes = new Map<string, string>();
  for (const row of rows) {
    const stored = reads.isSpent ? 'large' : await reads.call(row);
    if (stored === 'large') {
      // Too large to read: one bar shows the facts from the list.
      bars.push({ call: row, spans: roughSpans(row), related: [] });
      continue;
    }
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined) continue;
    bars.push(toBar(row, call, stored.events));
    for (const { id } of stored.events) callOf.set(id, row.callId);
    const cause = causeIn(stored.events);
    if (cause !== undefined) causes.set(row.callId, cause);
  }
  const causeOf = (callId: string): readonly RelatedCall[] => {
    const from = callOf.get(causes.get(callId) ?? '');
    return from === undefined || from === callId ? [] : [{ how: 'caused_by', sessionId, callId: from }];
  };
  const lanes = laneOut(bars, ledger.now());
  return {
    sessionId,
    rows: bars.map((bar, index) => ({
      ...bar,
      related: [...bar.related, ...causeOf(bar.call.callId)],
      lane: lanes[index] ?? 0,
    })),
    next,
    lanes: Math.max(0, ...lanes) + (lanes.length === 0 ? 0 : 1),
  };
}

const toBar = (
  row: CallSummary,
  call: Call,
  events: readonly Pick<QuittanceEvent, 'type' | 'at'>[],
): Omit<TimelineCall, 'lane'> => ({ call: row, spans: spansOf(events), related: relatedTo(call) });

/** From its request to its end, if it has too many events to read. */
const roughSpans = ({ requestedAt, settledAt, attempts }: CallSummary): readonly TimelineSpan[] => [
  { kind: 'running', attempt: attempts, from: requestedAt, to: settledAt },
];

/** The phases of a call between its events. Events after its end, such as late results, add nothing. */
export function spansOf(events: readonly Pick<QuittanceEvent, 'type' | 'at'>[]): readonly TimelineSpan[] {
  const spans: TimelineSpan[] = [];
  let kind: TimelineSpan['kind'] | undefined;
  let from = 0;
  let attempt = 0;
  const turnTo = (next: TimelineSpan['kind'] | undefined, at: number): void => {
    if (kind !== undefined && (at > from || next !== kind))
      spans.push({ kind, attempt, from, to: Math.max(at, from) });
    kind = next;
    from = Math.max(at, from);
  };
  for (const event of events) {
    const { type, at } = event;
    if (type === 'tool.requested') turnTo('deciding', at);
    else if (type === 'tool.held') turnTo('held', at);
    else if (type.startsWith('confirmation.')) turnTo('waiting', at);
    else if (type === 'tool.started') {
      turnTo('running', at);
      attempt++;
    } else if (type === 'tool.responded')
      turnTo('final' in event && event.final === false ? 'waiting' : undefined, at);
  }
  if (kind !== undefined) spans.push({ kind, attempt, from, to: undefined });
  return spans;
}

/** The lowest free lane at the start of each call, oldest call first, for bars in any order. */
function laneOut(bars: readonly Omit<TimelineCall, 'lane'>[], now: number): readonly number[] {
  const lanes: number[] = bars.map(() => 0);
  const busyUntil: number[] = [];
  const order = bars
    .map((bar, index) => ({ index, from: bar.spans[0]?.from ?? 0, to: endOf(bar.spans, now) }))
    .toSorted((one, other) => one.from - other.from || one.index - other.index);
  for (const { index, from, to } of order) {
    let lane = busyUntil.findIndex((until) => until <= from);
    if (lane === -1) lane = busyUntil.length;
    busyUntil[lane] = Math.max(to, from + 1);
    lanes[index] = lane;
  }
  return lanes;
}

const endOf = (spans: readonly TimelineSpan[], now: number): number => spans.at(-1)?.to ?? now;
