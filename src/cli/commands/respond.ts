import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionOptions } from '../decide-question.ts';
import { UsageError } from '../usage-error.ts';

export const respondCommand: CliCommand = {
  name: 'respond',
  summary: 'Answer the model in the place of a held call',
  takes: '<question|call>',
  most: 1,
  about: ['The call does not run; the model is told your text instead.'],
  options: { text: { value: 'TEXT', help: 'What the model is told' }, ...decisionOptions },
  examples: [
    [
      'quittance respond cnf_5f2197f1 --by "Ada" --text "The customer was refunded by phone."',
      'the model hears that, and nothing runs',
    ],
  ],
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'respond',
      done: 'Answered',
      question: undefined,
      decide() {
        const response = given.text('text');
        if (response === undefined)
          throw new UsageError('What should the model be told? --text is missing.', ['--text "…"']);
        return { decision: { decision: 'respond', response }, lines: [] };
      },
    }),
};
