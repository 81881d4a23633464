import type { Call } from '../call/call.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { CallEvent, CallNotAccepted, QuittanceEvent } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { StoredCall } from './journal.ts';

/** The call a stored row tells of. */
export const foldStored = ({ events }: StoredCall): Call | undefined => foldCall(events.filter(isCallEvent));

/** What behaviours emitted about a call tells nothing of how it went. */
export const isCallEvent = (event: QuittanceEvent | EmittedEvent): event is CallEvent =>
  'callId' in event && !isEmittedEvent(event);

/** What audit records are made of. */
export const isAuditEvent = (event: QuittanceEvent | EmittedEvent): event is CallEvent | CallNotAccepted =>
  isCallEvent(event) || event.type === 'call.not_accepted';
