import type { ReactNode } from 'react';
import { describeIdentity } from '../call/describe-identity.ts';
import { hasPolicy } from '../call/quorum.ts';
import type { ShownConfirmation } from '../view/tool-call-view.ts';
import { ShownText } from './shown-text.tsx';

const words = { approve: 'approved', edit: 'edited and approved', deny: 'denied' } as const;

/** Who has already said yes, and who is still missing. Nothing if any one person may decide. */
export function ApprovalProgress({
  confirmation,
}: {
  readonly confirmation: Pick<ShownConfirmation, 'asks' | 'votes' | 'fallen' | 'missing'>;
}): ReactNode {
  const { asks, votes, fallen, missing } = confirmation;
  if (!hasPolicy(asks)) return null;
  return (
    <section className="qt-approvals" aria-label="Approvals">
      <ul>
        {votes.map(({ decision, by }, index) => (
          <li key={index} data-vote={decision === 'deny' ? 'no' : 'yes'}>
            <strong>
              <ShownText text={by.name} />
            </strong>{' '}
            {words[decision]}
            {(by.behalf ?? []).map((each) => (
              <span key={each.delegation}>
                {' '}
                for <ShownText text={each.name} />
              </span>
            ))}{' '}
            <span className="qt-muted">
              <ShownText text={describeIdentity(by.identity)} />
            </span>
          </li>
        ))}
        {fallen.map(({ by, why }, index) => (
          <li key={`fallen ${index}`} data-vote="void">
            <strong>
              <ShownText text={by.name} />
            </strong>{' '}
            no longer counts: <ShownText text={why} />
          </li>
        ))}
        {missing.map(({ who, missing: count, quorum, ruleId }, index) => (
          <li key={`missing ${index}`} data-vote="missing">
            <strong>
              {count} of {quorum} missing:
            </strong>{' '}
            <ShownText text={who} />{' '}
            <span className="qt-muted">
              rule <ShownText text={ruleId} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
