/** Reason codes for decisions and previews. */
import type { Reason } from './reason.ts';

export type PersonReasonCode =
  | 'confirmation.rejected'
  | 'confirmation.answered'
  | 'confirmation.expired'
  | 'preview.failed';

export const personReasons: { readonly [Code in PersonReasonCode]: Reason } = {
  'confirmation.rejected': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A person denied the call',
    whatHappened: 'The call was held for a person, who denied it.',
    whyItMatters: 'The body never ran. The name of the person is recorded.',
    forModel: 'A person did not allow the call. Respect that; ask for something else.',
    whatToDo: 'Respect the decision: request something else, or talk to that person.',
  },
  'confirmation.answered': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'read_answer',
    title: 'A person answered instead',
    whatHappened: 'The call was held for a person, who wrote an answer instead of letting it run.',
    whyItMatters: 'The body never ran. The answer is in the details and takes the place of a result.',
    forModel: 'A person answered instead of letting the call run. Read the answer and continue from there.',
    whatToDo: 'Read the answer and continue from there.',
  },
  'confirmation.expired': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'ask_again',
    title: 'No decision was made in time',
    whatHappened: 'The call was held for a person and the time for a decision ran out.',
    whyItMatters: 'The body never ran. Silence is neither consent nor a refusal.',
    forModel:
      'No person decided on the call in time, so it did not run. Tell the user, and continue without it.',
    whatToDo: 'Request it again under a new call id when a person can decide, or allow more time.',
  },
  'preview.failed': {
    whoseMove: "the tool's author",
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'ask_again',
    title: 'The preview failed',
    whatHappened: 'The preview of the tool threw, took too long or returned something that cannot be stored.',
    whyItMatters:
      'The body never ran. Without a preview, rules cannot judge the effect and a person cannot approve it.',
    forModel: 'The effect of the call could not be shown, so it did not run. Continue without it.',
    whatToDo: 'Read the details, fix the preview of the tool, and request it again under a new call id.',
  },
};
