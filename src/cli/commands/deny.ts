import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionOptions } from '../decide-question.ts';

export const denyCommand: CliCommand = {
  name: 'deny',
  summary: 'Keep a held call from running',
  takes: '<question|call>',
  most: 1,
  about: [
    'The model is told that a person said no, with the reason. A no needs no digest; one that is given must fit.',
  ],
  options: decisionOptions,
  examples: [
    ['quittance deny cnf_5f2197f1 --by "Ada" --reason "Not before the audit."', 'it does not run'],
    ['quittance deny call_7 --session ticket-42 --by "Ada"', 'named by its call'],
  ],
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'deny',
      done: 'Denied',
      question: undefined,
      decide: () => ({ decision: { decision: 'deny' }, lines: [] }),
    }),
};
