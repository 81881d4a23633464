import type { ConfirmationStatus } from '../call/call.ts';
import type { CallEvent } from '../call/event.ts';
import type { ConfirmationSummary } from './confirmation-query.ts';

/**
 * Every confirmation of a call, in order. A confirmation that a newer one replaced is decided, whatever its last
 * status was.
 */
export function summarizeConfirmations(events: readonly CallEvent[]): readonly ConfirmationSummary[] {
  const found = new Map<string, ConfirmationSummary>();
  let toolName = '';
  const set = (confirmationId: string, status: ConfirmationStatus): void => {
    const known = found.get(confirmationId);
    if (known !== undefined) found.set(confirmationId, { ...known, status });
  };
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        ({ toolName } = event);
        break;
      case 'tool.held':
        found.set(event.confirmationId, {
          confirmationId: event.confirmationId,
          sessionId: event.sessionId,
          callId: event.callId,
          toolName,
          askedAt: event.at,
          expiresAt: event.expiresAt,
          status: 'pending',
        });
        break;
      case 'confirmation.decided':
        set(event.confirmationId, statusAfter[event.decision]);
        break;
      case 'confirmation.expired':
        set(event.confirmationId, event.effect === 'allow' ? 'approved' : 'expired');
        break;
      case 'confirmation.withdrawn':
        set(event.confirmationId, 'withdrawn');
        break;
      case 'confirmation.voted':
      case 'confirmation.reminded':
      case 'tool.decided':
      case 'tool.previewed':
      case 'tool.started':
      case 'tool.responded':
      case 'tool.late':
      case 'retry.requested':
      case 'tool.recalled':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  return [...found.values()];
}

const statusAfter = {
  approve: 'approved',
  edit: 'approved',
  deny: 'denied',
  respond: 'answered',
} as const;
