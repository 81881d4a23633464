import { checkObject } from '../base/check-keys.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Journal } from '../ledger/journal.ts';

/** The calls to read: all of a session, or one of them. */
export type CallFilter = { readonly sessionId: string; readonly callId?: string };

export async function readEvents(journal: Journal, filter: CallFilter): Promise<readonly QuittanceEvent[]> {
  checkObject('A filter of calls', filter);
  const { sessionId, callId } = filter;
  if (callId === undefined) return journal.readSession(sessionId);
  return (await journal.readCall(sessionId, callId))?.events ?? [];
}
