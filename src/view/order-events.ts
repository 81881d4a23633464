import type { CallEvent } from '../call/event.ts';

/**
 * Returns the events of one call in order, without duplicates. A page that reconnects may receive events twice or out
 * of order. An event names its predecessor; if that one is present, it decides the order. Otherwise the ledger's clock
 * decides, and within a millisecond the usual order of event types.
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
  // A set keeps insertion order, so it serves as both result and visited marks.
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
  'confirmation.voted',
  'confirmation.reminded',
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
