import type { ReactNode } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { Timeline, TimelineCall } from '@quittance/server/internal/http/api/session';
import { addressOf } from '../../route.ts';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { FewLines } from '../../ui/few-lines.tsx';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';
import { relationWords } from './links-between.ts';
import { measureCall } from './measure-call.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';

type Props = {
  readonly timeline: Timeline;
  readonly now: number;
  readonly active: string | undefined;
  readonly onActive: (callId: string | undefined) => void;
};

/** The same calls as a table, newest first. */
export function TimelineTable({ timeline, now, active, onActive }: Props): ReactNode {
  const columns: readonly Column<TimelineCall>[] = [
    { head: 'Outcome', cell: ({ call }) => <OutcomeBadge call={call} /> },
    { head: 'Tool', cell: ({ call }) => <ForeignId id={call.toolName} /> },
    {
      head: 'Call',
      className: 'clip call-id',
      cell: ({ call }) => (
        <Link
          to={addressOf(['calls', call.sessionId, call.callId])}
          title={safeId(call.callId)}
          onFocus={() => onActive(call.callId)}
        >
          <ForeignId id={call.callId} />
        </Link>
      ),
    },
    { head: 'Message', className: 'wraps muted', cell: (row) => <Message row={row} /> },
    {
      head: 'Attempts',
      className: 'num roomy',
      cell: ({ call }) => (call.attempts === 0 ? '–' : call.attempts),
    },
    {
      head: 'Held',
      className: 'num',
      cell: ({ spans }) => {
        const { heldMs } = measureCall(spans, now);
        return heldMs === 0 ? '–' : formatDuration(heldMs);
      },
    },
    {
      head: 'Duration',
      className: 'num',
      // The bars also contain the time that the ledger took to store the outcome.
      cell: ({ call, spans }) =>
        call.attempts === 0 ? '–' : formatDuration(call.elapsedMs ?? measureCall(spans, now).ranMs),
    },
    { head: 'Age', className: 'num', cell: ({ call }) => <Age at={call.requestedAt} /> },
  ];
  return (
    <div className="card">
      <DataTable
        name="Calls of the timeline"
        columns={columns}
        rows={timeline.rows}
        keyOf={({ call }) => call.callId}
        propsOf={({ call }) => ({
          'data-active': call.callId === active,
          onMouseEnter: () => onActive(call.callId),
        })}
        onMouseLeave={() => onActive(undefined)}
      />
    </div>
  );
}

const Message = ({ row: { call, related } }: { readonly row: TimelineCall }): ReactNode => (
  <>
    <FewLines text={call.message ?? ''} />
    {related.map(({ how, sessionId, callId }) => (
      <span key={`${how} ${sessionId} ${callId}`} className="relation">
        {relationWords[how]}{' '}
        <Link to={addressOf(['calls', sessionId, callId])}>
          <ForeignId id={callId} />
        </Link>
      </span>
    ))}
  </>
);
