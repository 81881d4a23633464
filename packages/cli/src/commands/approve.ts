import { limits } from 'quittance/internal/call/limits';
import type { ForSession } from 'quittance/internal/runtime/keep-decision';
import type { CliCommand, Given } from '../command.ts';
import { decideQuestion, decisionEffect, decisionOptions } from '../decide-question.ts';
import { parseSpan } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

export const approveCommand: CliCommand = {
  name: 'approve',
  summary: 'Approve a held call, exactly as it was shown',
  takes: '<confirmation|call>',
  most: 1,
  about: [
    'At a terminal, the command shows everything that would run, and you confirm by typing the beginning of its digest. A program needs a token, and --digest names the input that was reviewed, as quittance pending prints it. An approval covers exactly those arguments. Rules and limits are checked again before the call runs.',
    'The command itself runs nothing. The process that holds the call continues it, or another process that has the tool. Exit code 1: nothing was decided, or --wait saw no outcome.',
  ],
  options: {
    ...decisionOptions,
    'for-session': {
      value: 'SPAN',
      help: 'Also approve later calls of the tool in this session for which the same rules ask, for this time: 15m, 6h, 1d at most. Needs --uses',
    },
    uses: { value: 'N', help: 'Number of later calls that --for-session approves, 1,000 at most' },
  },
  examples: [
    ['quittance approve cnf_5f2197f1 --by "Ada"', 'review it, then type the beginning of the digest'],
    [
      'quittance approve call_7 --token-file ada.token --digest cba968742513 --wait 30',
      'from a script; waits for the outcome',
    ],
    [
      'quittance approve call_7 --token-file ada.token --digest cba968742513 --revision 2',
      'approve the second revision of the preview',
    ],
    [
      'quittance approve call_7 --by "Ada" --for-session 1h --uses 5',
      'also approve five later calls within the hour; if the rules need several people, all of them must agree',
    ],
  ],
  effect: decisionEffect('approve'),
  run: (given, context) =>
    decideQuestion(given, context, {
      verb: 'approve',
      done: 'Approved',
      question: 'Approve?',
      runs: true,
      decide: () => ({ decision: { decision: 'approve', ...readForSession(given) }, lines: [] }),
    }),
};

const { longestMs, uses: mostUses } = limits.forSession;

function readForSession(given: Given): { readonly forSession?: ForSession } {
  const [span, uses] = [given.text('for-session'), given.count('uses')];
  if (span === undefined && uses === undefined) return {};
  if (span === undefined || uses === undefined)
    throw new UsageError('--for-session and --uses limit a grant together. Give both.', [
      '--for-session 1h --uses 5',
    ]);
  const forMs = parseSpan(span, 'for-session');
  if (forMs > longestMs) throw new UsageError('--for-session lasts a day at most.', ['--for-session 1d']);
  if (uses < 1 || uses > mostUses)
    throw new UsageError(`--uses is a whole number from 1 to ${mostUses}.`, ['--uses 5']);
  return { forSession: { forMs, uses } };
}
