/** The result of a question, in words. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import { safeWords } from 'quittance/internal/base/safe-id';
import type { ConfirmationStatus } from 'quittance/internal/call/call';
import type { ConfirmationDecision, DecidedBy } from 'quittance/internal/call/event';
import type { Tone } from '../../ui/outcome-badge.tsx';

export type Decided = {
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
};

export type Verdict = { readonly word: string; readonly sentence: string; readonly tone: Tone };

const done: {
  readonly [Decision in ConfirmationDecision]: { readonly mine: string; readonly theirs: string };
} = {
  approve: { mine: 'You approved this', theirs: 'approved' },
  edit: { mine: 'You approved this with edited arguments', theirs: 'approved with edited arguments' },
  deny: { mine: 'You denied this', theirs: 'denied' },
  respond: { mine: 'You responded to the model, and the tool did not run', theirs: 'responded to the model' },
};

/** Undefined while the question is open. `isMine`: the answer was given on this page. */
export function describeVerdict(
  { status, decision, by, reason }: Decided,
  isMine: boolean,
): Verdict | undefined {
  switch (status) {
    case 'pending':
      return undefined;
    case 'expired':
      return { word: 'expired', sentence: 'The question expired without an answer.', tone: 'quiet' };
    case 'withdrawn':
      return {
        word: 'withdrawn',
        sentence: `The question was withdrawn${because(reason)}`,
        tone: 'quiet',
      };
    case 'approved':
    case 'denied':
    case 'answered': {
      const who = by === undefined ? 'another person' : safeWords(describeDecider(by));
      const said = decision === undefined ? undefined : done[decision];
      return {
        word: status,
        sentence:
          isMine && said !== undefined
            ? `${said.mine}${because(reason)}`
            : `Already decided by ${who}: ${said?.theirs ?? status}${because(reason)}`,
        tone: status === 'approved' ? 'good' : status === 'denied' ? 'bad' : 'quiet',
      };
    }
  }
}

const because = (reason: string | undefined): string =>
  reason === undefined || reason === '' ? '.' : `: ${safeWords(reason)}`;
