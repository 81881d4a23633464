import type { DecidedBy } from '../../call/event.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { EntryGate, Stop } from '../state/gate.ts';

export const deadlineGate: EntryGate = { name: 'deadline', check: turnIsOver };

const itself: DecidedBy = { type: 'gate', name: deadlineGate.name };

/** Is the turn over? */
export function turnIsOver({ turn, engine }: Pick<AcceptedCall, 'turn' | 'engine'>): Stop | undefined {
  if (turn.ended !== undefined)
    return {
      type: 'deny',
      reason: 'ended',
      code: 'turn.ended',
      by: itself,
      details:
        turn.ended === 'terminal_result'
          ? 'The turn has ended with the final result of another tool.'
          : 'The turn has ended.',
    };
  const { deadlineAtMs } = turn;
  if (deadlineAtMs === Number.POSITIVE_INFINITY || engine.clock.monotonicMs() < deadlineAtMs)
    return undefined;
  return {
    type: 'deny',
    reason: 'deadline',
    code: 'turn.deadline',
    by: itself,
    details: 'The deadline of the turn has passed.',
  };
}
