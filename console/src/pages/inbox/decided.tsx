/** Questions that are answered, newest first. */
import type { ReactNode } from 'react';
import { safeText } from '../../../../src/base/safe-text.ts';
import type { ConfirmationView } from '../../../../src/runtime/confirmation-view.ts';
import { usePages } from '../../api/use-pages.ts';
import { addressOf } from '../../router.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, formatAge } from '../../ui/time.tsx';
import { describeVerdict } from './verdict.ts';

const pageSize = 50;

export function Decided(): ReactNode {
  const { rows, error, hasMore, loadMore, loadingMore, reload } = usePages<ConfirmationView>(
    '/v1/confirmations',
    { limit: pageSize },
    ({ confirmationId }) => confirmationId,
    { everyMs: 10_000 },
  );
  if (rows === undefined)
    return error === undefined ? <Skeleton rows={8} /> : <Problem error={error} onRetry={reload} />;
  const decided = rows.filter(({ status }) => status !== 'pending');
  return (
    <>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {decided.length === 0 && !hasMore ? (
        <Empty title="Nothing was decided yet">
          Who approved or denied what, when and why, stands here for ever.
        </Empty>
      ) : (
        <div className="card wide-table">
          <table>
            <thead>
              <tr>
                <th scope="col">Decision</th>
                <th scope="col">Tool</th>
                <th scope="col">Question</th>
                <th scope="col">By</th>
                <th scope="col">Reason</th>
                <th scope="col" className="num">
                  Waited
                </th>
                <th scope="col" className="num">
                  Age
                </th>
              </tr>
            </thead>
            <tbody>
              {decided.map((question) => (
                <Row key={question.confirmationId} question={question} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasMore && (
        <div className="actions">
          <button type="button" onClick={loadMore} disabled={loadingMore}>
            {loadingMore ? 'Reading…' : 'Older ones'}
          </button>
        </div>
      )}
    </>
  );
}

function Row({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { confirmationId, toolName, displayName, description, by, reason, createdAt, decidedAt } = question;
  const verdict = describeVerdict(question, false);
  return (
    <tr>
      <td>
        <span className="badge" data-tone={verdict?.tone}>
          <span className="dot" aria-hidden="true" />
          {question.decision === 'edit' ? 'edited' : verdict?.word}
        </span>
      </td>
      <td>
        <Link to={addressOf(['inbox', confirmationId])}>{safeText(displayName || toolName)}</Link>
      </td>
      <td className="wraps">{safeText(description)}</td>
      <td>{by === undefined ? '–' : safeText(by.name)}</td>
      <td className="wraps muted">{safeText(reason ?? '')}</td>
      <td className="num">{decidedAt === undefined ? '–' : formatAge(decidedAt - createdAt)}</td>
      <td className="num">
        <Age at={decidedAt ?? createdAt} />
      </td>
    </tr>
  );
}
