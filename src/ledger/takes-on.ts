import type { QuittanceEvent } from '../call/event.ts';

/**
 * Does this append take ownership of the call? A decision may be made by any process, so it does not. Another
 * process can then still take over a call whose owner is gone.
 */
export const takesOn = (events: readonly Pick<QuittanceEvent, 'type'>[]): boolean =>
  events[0]?.type !== 'confirmation.decided' && events[0]?.type !== 'confirmation.voted';
