/** How people answered the same rule, or the same tool, before. */
import type { ReactNode } from 'react';
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ConfirmationPage } from '@quittance/server/internal/http/api/confirmation';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Age } from '../../ui/time.tsx';
import { describeVerdict } from './verdict.ts';

const mostRead = 40;
const mostShown = 5;

export function EarlierDecisions({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { data, error, reload } = useAnswer<ConfirmationPage>('/v1/confirmations', {
    toolName: question.toolName,
    limit: mostRead,
  });
  if (data === undefined && error !== undefined) return <Problem error={error} onRetry={reload} />;
  const rules = rulesOf(question);
  const decided = (data?.rows ?? []).filter(
    (each) => each.confirmationId !== question.confirmationId && each.status !== 'pending',
  );
  const same = decided.filter((each) => [...rulesOf(each)].some((name) => rules.has(name)));
  const shown = (rules.size === 0 ? decided : same).slice(0, mostShown);
  if (shown.length === 0) return null;
  const about = rules.size === 0 ? 'this tool' : 'the same rule';
  const approved = shown.filter(({ decision }) => decision === 'approve' || decision === 'edit').length;
  return (
    <section className="card">
      <header>
        <h3>Earlier decisions about {about}</h3>
        <span className="muted">
          {approved} of the last {shown.length} approved
        </span>
      </header>
      <ul className="earlier-decisions">
        {shown.map((each) => (
          <li key={each.confirmationId}>
            <Word question={each} />{' '}
            <Link to={addressOf(['inbox', each.confirmationId])}>
              <ForeignText text={each.description} />
            </Link>
            <span className="muted">
              {each.by !== undefined && <ForeignText text={describeDecider(each.by)} />}
              {each.reason !== undefined && (
                <>
                  : <ForeignText text={each.reason} />
                </>
              )}{' '}
              · <Age at={each.decidedAt ?? each.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Word({ question }: { readonly question: ConfirmationView }): ReactNode {
  const verdict = describeVerdict(question, false);
  return (
    <span className="badge" data-tone={verdict?.tone}>
      {question.decision === 'edit' ? 'edited' : verdict?.word}
    </span>
  );
}

const rulesOf = ({ asks }: ConfirmationView): ReadonlySet<string> =>
  new Set(asks.flatMap(({ by }) => (by.type === 'rule' ? [by.name] : [])));
