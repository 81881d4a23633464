/** Calls that were not accepted. The ledger stores them with their session and not as calls. */
import type { CallEvent, CallNotAccepted } from '../call/event.ts';
import type { Ledger } from './ledger.ts';

/** Records about a call id from before it was accepted, or if it never was. */
export async function readRefusals(
  ledger: Pick<Ledger, 'journal'>,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
): Promise<readonly CallNotAccepted[]> {
  const events = await ledger.journal.readSession(sessionId, 'without_call');
  return events
    .filter((event) => event.type === 'call.not_accepted')
    .filter(({ refusedCallId }) => refusedCallId === callId);
}

/** Merges both by time. The order of the call's own events stays. */
export function withRefusals(
  events: readonly CallEvent[],
  refusals: readonly CallNotAccepted[],
): readonly (CallEvent | CallNotAccepted)[] {
  if (refusals.length === 0) return events;
  const merged: (CallEvent | CallNotAccepted)[] = [];
  const left = [...refusals];
  for (const event of events) {
    while (left[0] !== undefined && left[0].at <= event.at) merged.push(...left.splice(0, 1));
    merged.push(event);
  }
  return [...merged, ...left];
}
