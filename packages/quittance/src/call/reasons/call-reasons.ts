/** Reason codes for repeats, conflicts and the end of the turn. */
import type { Reason } from './reason.ts';

export type CallReasonCode =
  | 'call.duplicate'
  | 'call.loop'
  | 'call.twin'
  | 'call.blocked'
  | 'call.conflict'
  | 'turn.deadline'
  | 'turn.ended';

export const callReasons: { readonly [Code in CallReasonCode]: Reason } = {
  'call.duplicate': {
    whoseMove: 'no action',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_earlier_result',
    title: 'The same call already succeeded',
    whatHappened:
      'An idempotent tool was called a second time with the same input in one turn, and the first call had succeeded.',
    whyItMatters: 'Running it again would cost something and change nothing.',
    forModel: 'The same call already succeeded. Use its result.',
    whatToDo: 'Use the result of the earlier call, which the details name.',
  },
  'call.loop': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'The same call keeps giving the same answer',
    whatHappened: 'Several calls in a row had the same tool, the same input and the same outcome.',
    whyItMatters: 'An agent in a loop spends money and time and learns nothing.',
    forModel: 'The same call keeps giving the same answer. Do something else.',
    whatToDo: 'Do something else. A tool that is meant to be polled can have a higher limit.',
  },
  'call.twin': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'await_person',
    title: 'An earlier call like this one may have taken effect',
    whatHappened:
      'The tool may not be rerun. An earlier call of the session with the same tool and input timed out, failed after it had begun or is indeterminate.',
    whyItMatters: 'A model that retries under a new id is the most common way to pay twice.',
    forModel:
      'An earlier call like this one may have taken effect. Wait until a person has found out; do not repeat it.',
    whatToDo:
      'Find out how the earlier call ended, then let a person decide. The tool can set `rerun` to ask, deny or allow.',
  },
  'call.blocked': {
    whoseMove: 'no action',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'The tool is closed for this turn',
    whatHappened: 'The tool failed earlier in this turn in a way that a retry cannot fix.',
    whyItMatters: 'The body never ran. It would have failed again.',
    forModel: 'The tool failed earlier in this turn. Use another tool.',
    whatToDo: 'Use another tool, or begin a new turn once the cause is fixed.',
  },
  'call.conflict': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_new_id',
    title: 'This id or key belongs to another call',
    whatHappened:
      'The call id was used in this session for another tool or other arguments, or the idempotency key for other arguments.',
    whyItMatters:
      'The recorded outcome belongs to the earlier call. Returning it would be wrong; running under its id would hide it.',
    forModel: 'The id of this call belongs to another call. Make the call again under a new id.',
    whatToDo: 'Give every new call its own id. Reuse an id only with the same tool and arguments.',
  },
  'turn.deadline': {
    whoseMove: 'no action',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'The time of the turn is over',
    whatHappened: 'The deadline of the turn had passed before the body could start.',
    whyItMatters: 'Every further call of this turn will be denied.',
    forModel: 'The time for this turn is over. Finish with what you have.',
    whatToDo: 'Finish with the results so far, or begin a new turn with more time.',
  },
  'turn.ended': {
    whoseMove: 'no action',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'The turn is over',
    whatHappened: 'The turn was ended, or a terminal result ended it, before the body could start.',
    whyItMatters: 'Every further call of this turn will be denied.',
    forModel: 'This turn is over. Finish with what you have.',
    whatToDo: 'Begin a new turn if there is more to do.',
  },
};
