import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionEffect, decisionOptions } from '../decide-question.ts';

export const denyCommand: CliCommand = {
  name: 'deny',
  summary: 'Deny a held call',
  takes: '<confirmation|call>',
  most: 1,
  about: [
    'The model receives the denial with your reason. A denial needs no digest; a given digest must match. You confirm it at a terminal, or a program has a token.',
  ],
  options: decisionOptions,
  examples: [
    ['quittance deny cnf_5f2197f1 --by "Ada" --reason "Not before the audit."', 'deny it with a reason'],
    ['quittance deny call_7 --session ticket-42 --by "Ada"', 'name it by its call id'],
  ],
  effect: decisionEffect('deny'),
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'deny',
      done: 'Denied',
      question: 'Deny',
      runs: false,
      decide: () => ({ decision: { decision: 'deny' }, lines: [] }),
    }),
};
