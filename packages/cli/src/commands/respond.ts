import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionEffect, decisionOptions } from '../decide-question.ts';
import { UsageError } from '../usage-error.ts';

export const respondCommand: CliCommand = {
  name: 'respond',
  summary: 'Answer the model instead of running a held call',
  takes: '<confirmation|call>',
  most: 1,
  about: ['The call does not run; the model receives your text instead.'],
  options: { text: { value: 'TEXT', help: 'Text for the model' }, ...decisionOptions },
  examples: [
    [
      'quittance respond cnf_5f2197f1 --by "Ada" --text "The customer was refunded by phone."',
      'the model receives this text; nothing runs',
    ],
  ],
  effect: decisionEffect('respond'),
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'respond',
      done: 'Answered',
      question: 'Answer the model instead of',
      runs: false,
      decide() {
        const response = given.text('text');
        if (response === undefined)
          throw new UsageError('--text is missing: the answer for the model.', ['--text "…"']);
        return { decision: { decision: 'respond', response }, lines: [] };
      },
    }),
};
