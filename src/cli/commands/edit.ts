import { isJsonObject } from '../../base/json.ts';
import { createRedactor } from '../../base/redaction.ts';
import { undoneCallId } from '../../runtime/host/undo-tool.ts';
import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionOptions } from '../decide-question.ts';
import { differenceLines } from '../difference-lines.ts';
import { exitCodes } from '../exit-code.ts';
import { inputDifference } from '../input-difference.ts';
import { readJsonArgument } from '../json-argument.ts';
import { UsageError } from '../usage-error.ts';

const example = '{"order":"A7","cents":300}';

export const editCommand: CliCommand = {
  name: 'edit',
  summary: 'Let a held call run with other arguments',
  takes: '<question|call>',
  most: 1,
  about: [
    'Shows what is different, member by member, and approves the arguments you give in the place of those the model asked for: all of them, not only what changes. They are checked by the schema, by rules and by limits like any others; where those ask something new, the call asks again.',
    'Where a value is hidden, leave its mask as it is: it means what it hides. --digest is that of the arguments before the edit.',
  ],
  options: {
    args: { value: 'JSON|@FILE', help: 'The arguments to run with, or a file that holds them', file: true },
    ...decisionOptions,
  },
  examples: [
    [
      `quittance edit cnf_5f2197f1 --by "Ada" --args '${example}'`,
      'look at the difference, and say yes or no',
    ],
    ['quittance edit call_7 --by "Ada" --args @smaller.json --digest cba968742513', 'from a script'],
  ],
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'edit',
      done: 'Approved with other arguments',
      question: 'Approve it with these arguments?',
      decide(_, view, { out }) {
        const typed = given.text('args');
        if (typed === undefined)
          throw new UsageError('With which arguments? --args is missing.', [`--args '${example}'`]);
        const edited = readJsonArgument(typed, 'args', example);
        if (!isJsonObject(edited))
          throw new UsageError('Arguments are a JSON object.', [`--args '${example}'`]);
        if (view.toolName.endsWith('.undo') && undoneCallId(view.callId) !== undefined)
          throw new UsageError(
            'What was done is undone as it was done: the arguments of an undo cannot be edited.',
            [`quittance approve ${view.confirmationId}`, `quittance deny ${view.confirmationId}`],
            exitCodes.bad,
          );
        const shown = createRedactor().input(edited, view.hidden).value;
        const differences = inputDifference(
          view.inputForm === 'typed' ? view.acceptedInput : view.effectiveInput,
          edited,
          shown,
        );
        if (differences.length === 0)
          throw new UsageError('Those are the arguments it has.', [
            `quittance approve ${view.confirmationId} --by NAME`,
          ]);
        return {
          decision: { decision: 'edit', arguments: edited },
          lines: [out.paint('bold', 'Edited'), ...differenceLines(differences, out)],
        };
      },
    }),
};
