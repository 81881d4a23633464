import type { CallEvent } from '../call/event.ts';

/**
 * The events of one call, each once, as they happened, however they arrived: a page that reconnects gets some again and
 * may get late what came early. Every event names the one before it, which settles the order wherever that one is here;
 * elsewhere the ledger's clock does, and within one millisecond the usual course of a call.
 */
export function orderEvents(events: readonly CallEvent[]): readonly CallEvent[] {
  const byId = new Map<string, CallEvent>();
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, event);
  const sorted = [...byId.values()].toSorted(
    (one, other) =>
      Number(other.type === 'tool.requested') - Number(one.type === 'tool.requested') ||
      one.at - other.at ||
      usualCourse.indexOf(one.type) - usualCourse.indexOf(other.type),
  );
  // A set keeps the order in which things were added, and so is both the answer and what has been seen to.
  const ordered = new Set<CallEvent>();
  for (const event of sorted) {
    const chain = new Set<CallEvent>();
    for (
      let next: CallEvent | undefined = event;
      next !== undefined && !ordered.has(next) && !chain.has(next);
      next = next.cause === undefined ? undefined : byId.get(next.cause)
    )
      chain.add(next);
    for (const each of [...chain].toReversed()) ordered.add(each);
  }
  return [...ordered];
}

const usualCourse: readonly CallEvent['type'][] = [
  'tool.requested',
  'tool.decided',
  'tool.previewed',
  'tool.held',
  'confirmation.decided',
  'confirmation.expired',
  'confirmation.withdrawn',
  'tool.taken_over',
  'tool.started',
  'tool.reported',
  'runtime.budget_exhausted',
  'tool.responded',
  'retry.requested',
  'persistence.failed',
  'tool.late',
  'tool.recalled',
  'tool.resolved',
  'tool.undone',
];
