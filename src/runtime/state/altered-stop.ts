import type { Stop } from './gate.ts';

/** The end of a call whose record was altered. The model gets only facts about the call. */
export const alteredStop: Stop & { type: 'fail' } = {
  type: 'fail',
  code: 'ledger.altered',
  error: 'The record of this call was changed after it was stored. The call was not run.',
};
