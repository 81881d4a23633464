/** Finds the event of a redelivery request. */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { QuittanceEvent, RedeliveryRequested } from '../../call/event.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AnyEvent } from './run-handler.ts';
import { behaviorSessionId } from './run-handler.ts';

/** Undefined if the event is gone by now, or another request asked for the same before. */
export async function findAgain(ledger: Ledger, request: RedeliveryRequested): Promise<AnyEvent | undefined> {
  const others = await ledger.journal.readSession(request.sessionId);
  const first = others.find((event) => isSameRequest(event, request));
  if (first !== undefined && first.id !== request.id) return undefined;
  const isIt = ({ id }: AnyEvent): boolean => id === request.forEvent;
  const found =
    others.find(isIt) ??
    // Events in the ledger's own chain are read by another query.
    (request.sessionId === behaviorSessionId
      ? (await ledger.journal.readSession(ledgerSessionId)).find(isIt)
      : undefined);
  // A predicate of the host will read it. Events are JSON except for undefined.
  return found && (freezeJson(found as unknown as JsonObject) as unknown as AnyEvent);
}

const isSameRequest = (
  event: QuittanceEvent,
  { forEvent, behavior, attempt }: RedeliveryRequested,
): boolean =>
  event.type === 'retry.requested' &&
  'behavior' in event &&
  event.behavior === behavior &&
  event.forEvent === forEvent &&
  event.attempt === attempt;
