import type { Command } from '../call/command.ts';
import type { CallEvent } from '../call/event.ts';

/** The command that causes an event, so that a past decision can be judged again. */
export function toCommand(event: CallEvent): Command {
  switch (event.type) {
    case 'tool.requested':
      return { ...event, type: 'request' };
    case 'tool.decided':
      return { ...event, type: 'rule' };
    case 'tool.held':
      return { ...event, type: 'hold' };
    case 'confirmation.decided':
      return { ...event, type: 'answer' };
    case 'confirmation.voted':
      return { ...event, type: 'vote' };
    case 'confirmation.reminded':
      return { ...event, type: 'remind' };
    case 'tool.previewed':
      return { ...event, type: 'preview' };
    case 'confirmation.expired':
      return { ...event, type: 'expire' };
    case 'tool.reported':
      return { ...event, type: 'report' };
    case 'tool.undone':
      return { ...event, type: 'undo' };
    case 'confirmation.withdrawn':
      return { ...event, type: 'withdraw' };
    case 'runtime.budget_exhausted':
      return { ...event, type: 'exhaust' };
    case 'tool.taken_over':
      return { ...event, type: 'take_over' };
    case 'tool.started':
      return { ...event, type: 'start' };
    case 'tool.responded':
      // Whether the tool allowed a rerun is not stored; no rule about the order needs it.
      return { ...event, type: 'respond', mayRerun: false, repeatIsSafe: false };
    case 'retry.requested':
      return { ...event, type: 'try_again' };
    case 'tool.late':
      return { ...event, type: 'add_late' };
    case 'tool.resolved':
      return { ...event, type: 'resolve' };
    case 'persistence.failed':
      return { ...event, type: 'fail_to_persist' };
    case 'tool.recalled':
      return { ...event, type: 'recall' };
  }
}
