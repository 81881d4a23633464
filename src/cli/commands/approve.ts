import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionOptions } from '../decide-question.ts';

export const approveCommand: CliCommand = {
  name: 'approve',
  summary: 'Let a held call run, as it was shown',
  takes: '<question|call>',
  most: 1,
  about: [
    'At a terminal it shows all of what would run, and asks. Elsewhere --digest says what you have seen, as quittance pending prints it. An approval is about those arguments and nothing else; rules and limits are checked again before the call runs.',
    'Nothing runs here: the process that holds the call goes on with it, or another that has the tool. Exit code 1 where nothing was decided, or where --wait saw no outcome.',
  ],
  options: decisionOptions,
  examples: [
    ['quittance approve cnf_5f2197f1 --by "Ada"', 'look at it, and say yes or no'],
    [
      'quittance approve call_7 --by "Ada" --digest cba968742513 --wait 30',
      'from a script; wait for its outcome',
    ],
    [
      'quittance approve call_7 --by "Ada" --digest cba968742513 --revision 2',
      'the second version of what the tool showed',
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
