/** Decided questions, newest first. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { usePages } from '../../api/use-pages.ts';
import { addressOf } from '../../route.ts';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';
import { describeVerdict } from './verdict.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

const pageSize = 50;

const columns: readonly Column<ConfirmationView>[] = [
  { head: 'Decision', cell: (question) => <Verdict question={question} /> },
  {
    head: 'Tool',
    cell: ({ confirmationId, displayName, toolName }) => (
      <Link to={addressOf(['inbox', confirmationId])}>
        <ForeignId id={displayName || toolName} />
      </Link>
    ),
  },
  { head: 'Question', className: 'wraps', cell: ({ description }) => <ForeignText text={description} /> },
  { head: 'By', cell: ({ by }) => (by === undefined ? '–' : <ForeignText text={describeDecider(by)} />) },
  { head: 'Reason', className: 'wraps muted', cell: ({ reason }) => <ForeignText text={reason ?? ''} /> },
  {
    head: 'Waited',
    className: 'num',
    cell: ({ createdAt, decidedAt }) =>
      decidedAt === undefined ? '–' : formatDuration(decidedAt - createdAt),
  },
  {
    head: 'Age',
    className: 'num',
    cell: ({ createdAt, decidedAt }) => <Age at={decidedAt ?? createdAt} />,
  },
];

export function Decided(): ReactNode {
  const { rows, error, hasMore, loadMore, loadingMore, reload, large } = usePages<ConfirmationView>(
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
      <LargeCalls calls={large} />
      {decided.length === 0 && !hasMore ? (
        <Empty title="No decisions yet">Every decision appears here with its person, time and reason.</Empty>
      ) : (
        <div className="card">
          <DataTable
            name="Decided"
            columns={columns}
            rows={decided}
            keyOf={({ confirmationId }) => confirmationId}
          />
        </div>
      )}
      {hasMore && (
        <div className="actions">
          <button type="button" onClick={loadMore} disabled={loadingMore}>
            {loadingMore ? 'Loading…' : 'Load older'}
          </button>
        </div>
      )}
    </>
  );
}

function Verdict({ question }: { readonly question: ConfirmationView }): ReactNode {
  const verdict = describeVerdict(question, false);
  return (
    <span className="badge" data-tone={verdict?.tone}>
      <span className="dot" aria-hidden="true" />
      {question.decision === 'edit' ? 'edited' : verdict?.word}
    </span>
  );
}
