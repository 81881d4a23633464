import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionOptions } from '../decide-question.ts';

export const approveCommand: CliCommand = {
  name: 'approve',
  summary: 'Approve a held call, exactly as it was shown',
  takes: '<confirmation|call>',
  most: 1,
  about: [
    'At a terminal, the command shows everything that would run and asks for confirmation. Elsewhere, --digest names the input you reviewed, as quittance pending prints it. An approval covers exactly those arguments. Rules and limits are checked again before the call runs.',
    'The command itself runs nothing. The process that holds the call continues it, or another process that has the tool. Exit code 1: nothing was decided, or --wait saw no outcome.',
  ],
  options: decisionOptions,
  examples: [
    ['quittance approve cnf_5f2197f1 --by "Ada"', 'review it, then answer yes or no'],
    [
      'quittance approve call_7 --by "Ada" --digest cba968742513 --wait 30',
      'from a script; waits for the outcome',
    ],
    [
      'quittance approve call_7 --by "Ada" --digest cba968742513 --revision 2',
      'approve the second revision of the preview',
    ],
  ],
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'approve',
      done: 'Approved',
      question: 'Approve?',
      decide: () => ({ decision: { decision: 'approve' }, lines: [] }),
    }),
};
