import type { QuittanceEvent } from '../call/event.ts';

/**
 * Whether whoever appends these events is at the call from then on. A decision may be taken by anybody, anywhere: it
 * leaves the call with whoever holds it, so that one whose holder is gone can still be taken up by another.
 */
export const takesOn = (events: readonly Pick<QuittanceEvent, 'type'>[]): boolean =>
  events[0]?.type !== 'confirmation.decided';
