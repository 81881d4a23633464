import { isJsonObject } from 'quittance/internal/base/json';
import { createRedactor } from 'quittance/internal/base/redaction';
import { undoneCallId } from 'quittance/internal/runtime/undo-tool';
import type { CliCommand } from '../command.ts';
import { decideQuestion, decisionEffect, decisionOptions } from '../decide-question.ts';
import { differenceLines } from '../difference-lines.ts';
import { exitCodes } from '../exit-code.ts';
import { inputDifference } from '../input-difference.ts';
import { readJsonArgument } from '../json-argument.ts';
import { UsageError } from '../usage-error.ts';

const example = '{"order":"A7","cents":300}';

export const editCommand: CliCommand = {
  name: 'edit',
  summary: 'Approve a held call with different arguments',
  takes: '<confirmation|call>',
  most: 1,
  about: [
    "Shows the difference field by field and approves the arguments you give in place of the model's. Give all arguments, not only the changed ones. The schema, rules and limits check them like any others. If a new approval is needed, the call is held again.",
    'Do not change the mask of a redacted value: it represents the hidden value. The option --digest is the digest of the arguments before the edit.',
  ],
  options: {
    args: { value: 'JSON|@FILE', help: 'Arguments to run with, or a file that contains them', file: true },
    ...decisionOptions,
  },
  examples: [
    [
      `quittance edit cnf_5f2197f1 --by "Ada" --args '${example}'`,
      'review the difference, then type the beginning of the digest',
    ],
    [
      'quittance edit call_7 --token-file ada.token --args @smaller.json --digest cba968742513',
      'from a script',
    ],
  ],
  effect: decisionEffect('edit'),
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'edit',
      done: 'Approved with edited arguments',
      question: 'Approve the call with these arguments?',
      runs: true,
      decide(_, view, { out }) {
        const typed = given.text('args');
        if (typed === undefined) throw new UsageError('--args is missing.', [`--args '${example}'`]);
        const edited = readJsonArgument(typed, 'args', example);
        if (!isJsonObject(edited))
          throw new UsageError('--args must be a JSON object.', [`--args '${example}'`]);
        if (view.toolName.endsWith('.undo') && undoneCallId(view.callId) !== undefined)
          throw new UsageError(
            'The arguments of an undo cannot be edited: it must reverse the original call exactly.',
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
          throw new UsageError('These arguments equal the current ones.', [
            `quittance approve ${view.confirmationId} --by NAME`,
          ]);
        return {
          decision: { decision: 'edit', arguments: edited },
          lines: [out.paint('bold', 'Edited'), ...differenceLines(differences, out)],
        };
      },
    }),
};
