import type { ReactNode } from 'react';
import type { CallPage } from '@quittance/server/internal/http/api/call';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { FewLines } from '../../ui/few-lines.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';

const columns: readonly Column<CallSummary>[] = [
  { head: 'Outcome', cell: (call) => <OutcomeBadge call={call} /> },
  {
    head: 'Call',
    cell: ({ sessionId, callId }) => (
      <Link to={addressOf(['calls', sessionId, callId])}>
        <ForeignId id={callId} />
      </Link>
    ),
  },
  { head: 'Session', cell: ({ sessionId }) => <ForeignId id={sessionId} /> },
  { head: 'Message', className: 'wraps muted', cell: ({ message }) => <FewLines text={message ?? ''} /> },
  {
    head: 'Duration',
    className: 'num',
    cell: ({ attempts, elapsedMs }) => formatDuration(attempts === 0 ? undefined : elapsedMs),
  },
  { head: 'Age', className: 'num', cell: ({ requestedAt }) => <Age at={requestedAt} /> },
];

/** The last few calls of a tool. */
export function LatestCalls({ toolName }: { readonly toolName: string }): ReactNode {
  const { data, error, reload } = useAnswer<CallPage>(
    '/v1/calls',
    { toolName, limit: 8 },
    { everyMs: 10_000 },
  );
  return (
    <section className="card" aria-labelledby="latest-calls">
      <header>
        <h2 id="latest-calls">Latest calls</h2>
        <Link to={addressOf(['calls'], { toolName })}>All calls</Link>
      </header>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? (
        <div className="body">{error === undefined && <Skeleton rows={4} />}</div>
      ) : data.rows.length === 0 ? (
        <p className="body muted">No calls yet.</p>
      ) : (
        <DataTable
          name="Latest calls"
          columns={columns}
          rows={data.rows}
          keyOf={({ sessionId, callId }) => `${sessionId} ${callId}`}
        />
      )}
    </section>
  );
}
