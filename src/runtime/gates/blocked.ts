import type { EntryGate } from '../state/gate.ts';

/** Did this tool fail permanently in this turn? */
export const blockedGate: EntryGate = {
  name: 'blocked',
  check({ turn, request }) {
    const failed = turn.blocked.get(request.name);
    if (failed === undefined) return undefined;
    return {
      type: 'deny',
      reason: 'blocked',
      code: 'call.blocked',
      details: `The tool "${request.name}" failed permanently in this turn (call ${failed}).`,
    };
  },
};
