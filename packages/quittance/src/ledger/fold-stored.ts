import type { Call } from '../call/call.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { CallEvent, CallNotAccepted, QuittanceEvent } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { StoredCall } from './journal.ts';

/** The call of a stored row. */
export const foldStored = ({ events }: StoredCall): Call | undefined => foldCall(events.filter(isCallEvent));

/** Events that behaviors emit about a call do not change its state. */
export const isCallEvent = (event: QuittanceEvent | EmittedEvent): event is CallEvent =>
  'callId' in event && !isEmittedEvent(event);

/** The events that audit records are made from. */
export const isAuditEvent = (event: QuittanceEvent | EmittedEvent): event is CallEvent | CallNotAccepted =>
  isCallEvent(event) || event.type === 'call.not_accepted';

/**
 * True if this append takes ownership of the call. A decision may be made by any process, so it does not. Another process
 * can then still take over a call whose owner is gone.
 */
export const takesOn = (events: readonly Pick<QuittanceEvent, 'type'>[]): boolean =>
  events[0]?.type !== 'confirmation.decided' && events[0]?.type !== 'confirmation.voted';
