/** Finds confirmations by scanning all calls. */
import type { CallEvent } from '../../call/event.ts';
import type { Page } from '../../ledger/call-query.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import { matchesConfirmation } from '../../ledger/confirmation-query.ts';
import type { PageCursor } from '../../ledger/page-cursor.ts';
import { summarizeConfirmations } from '../../ledger/summarize-confirmations.ts';
import { toPage } from './memory-queries.ts';
import type { MemorySession } from './memory-session.ts';
import { allEvents } from './memory-session.ts';

export function queryConfirmations(
  sessions: Iterable<MemorySession>,
  query: ConfirmationQuery,
): Page<ConfirmationSummary> {
  const found: [ConfirmationSummary, PageCursor][] = [];
  for (const { calls } of sessions)
    for (const call of calls.values())
      // stored for the call, so these are call events
      for (const summary of summarizeConfirmations(allEvents(call) as readonly CallEvent[]))
        if (matchesConfirmation(summary, query)) found.push([summary, [summary.askedAt, call.position]]);
  return toPage(found, query);
}

export function findConfirmation(
  sessions: Iterable<MemorySession>,
  confirmationId: string,
): ConfirmationSummary | undefined {
  for (const { calls } of sessions)
    for (const call of calls.values()) {
      const events = allEvents(call);
      if (events.some((event) => event.type === 'tool.held' && event.confirmationId === confirmationId))
        return summarizeConfirmations(events as readonly CallEvent[]).find(
          (summary) => summary.confirmationId === confirmationId,
        );
    }
  return undefined;
}
