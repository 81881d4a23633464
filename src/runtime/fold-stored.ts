import type { Call } from '../call/call.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { StoredCall } from '../ledger/ledger.ts';

/** The call a stored row tells of. */
export const foldStored = ({ events }: StoredCall): Call | undefined => foldCall(events.filter(isCallEvent));

export const isCallEvent = (event: QuittanceEvent): event is CallEvent => 'callId' in event;
