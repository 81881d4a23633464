/** What a behavior is to be given once more, because somebody asked for it. */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { QuittanceEvent, RedeliveryRequested } from '../../call/event.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { AnyEvent } from './run-handler.ts';
import { behaviorSessionId } from './run-handler.ts';

/** Undefined where the event is gone by now, or somebody else had asked for the same before. */
export async function findAgain(ledger: Ledger, request: RedeliveryRequested): Promise<AnyEvent | undefined> {
  const others = await ledger.journal.readSession(request.sessionId);
  const first = others.find((event) => isSameRequest(event, request));
  if (first !== undefined && first.id !== request.id) return undefined;
  const isIt = ({ id }: AnyEvent): boolean => id === request.forEvent;
  const found =
    others.find(isIt) ??
    // What stands in the ledger's own chain is answered elsewhere.
    (request.sessionId === behaviorSessionId
      ? (await ledger.journal.readSession(ledgerSessionId)).find(isIt)
      : undefined);
  // A predicate of the host is about to look at it. Events are JSON but for undefined.
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
