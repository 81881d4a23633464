import type { ReactNode } from 'react';
import type { CallPage } from '@quittance/server/internal/http/api/call';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Problem } from '../../ui/problem.tsx';
import { FewLines } from '../../ui/few-lines.tsx';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Age } from '../../ui/time.tsx';
import { summarizeArguments } from 'quittance/internal/view/summarize-arguments';
import { ForeignId } from '../../ui/foreign-text.tsx';

const shownCalls = 6;

const columns: readonly Column<CallSummary>[] = [
  { head: 'Outcome', cell: (call) => <OutcomeBadge call={call} /> },
  {
    head: 'Tool',
    cell: ({ sessionId, callId, toolName }) => (
      <Link to={addressOf(['calls', sessionId, callId])}>
        <ForeignId id={toolName} />
      </Link>
    ),
  },
  {
    head: 'Arguments',
    className: 'wraps muted',
    cell: ({ args }) => <FewLines text={summarizeArguments(args)} />,
  },
  { head: 'Message', className: 'wraps muted', cell: ({ message }) => <FewLines text={message ?? ''} /> },
  { head: 'Age', className: 'num', cell: ({ requestedAt }) => <Age at={requestedAt} /> },
];

/** Other recent calls of the session: context for the decision. */
export function CallsBefore({
  sessionId,
  callId,
}: {
  readonly sessionId: string;
  readonly callId: string;
}): ReactNode {
  const page = useAnswer<CallPage>('/v1/calls', { sessionId, limit: shownCalls + 1 });
  const others = page.data?.rows.filter((call) => call.callId !== callId).slice(0, shownCalls) ?? [];
  if (page.data === undefined && page.error !== undefined)
    return <Problem error={page.error} onRetry={page.reload} />;
  if (others.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h3>Other calls in this session</h3>
        <Link to={addressOf(['sessions', sessionId])}>Timeline</Link>
      </header>
      <DataTable
        name="Other calls in this session"
        columns={columns}
        rows={others}
        keyOf={(call) => call.callId}
      />
    </section>
  );
}
