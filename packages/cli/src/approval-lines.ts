/** Who has said what about a question that needs several people, and what is missing. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import { describeMissing, hasPolicy } from 'quittance/internal/call/quorum';
import type { FallenVote } from 'quittance/internal/call/vote';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { decisionWords } from './call-timeline.ts';
import type { PageLayout } from './page-layout.ts';
import { labelled } from './page-layout.ts';

/** Empty if any one person may decide. */
export const approvalLines = (
  { asks, votes, fallen, missing }: Pick<ConfirmationView, 'asks' | 'votes' | 'fallen' | 'missing'>,
  page: PageLayout,
): string[] =>
  hasPolicy(asks)
    ? [
        ...votes.flatMap(({ decision, by }) => labelled(decisionWords[decision], describeDecider(by), page)),
        ...fallen.flatMap((each) => fallenLines(each, page)),
        ...labelled('missing', describeMissing(missing), page),
      ]
    : [];

/** A vote that is void. */
export const fallenLines = ({ by, why }: FallenVote, page: PageLayout): string[] =>
  labelled('void', `vote of ${describeDecider(by)}: ${why}`, page);
