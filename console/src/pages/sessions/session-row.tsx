import type { ReactNode } from 'react';
import { safeId } from '../../../../src/base/safe-id.ts';
import type { SessionSummary } from '../../../../src/ledger/call-query.ts';
import { addressOf } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';

export function SessionRow({
  session,
  index,
}: {
  readonly session: SessionSummary;
  readonly index: number;
}): ReactNode {
  const { sessionId, calls, openCalls, failures, denials, unresolved, firstAt, lastAt } = session;
  return (
    <tr data-index={index} aria-rowindex={index + 2}>
      <th scope="row" className="clip session-name">
        <Link to={addressOf(['sessions', sessionId])} title={safeId(sessionId)}>
          <ForeignId id={sessionId} />
        </Link>
      </th>
      <td className="num">{calls.toLocaleString()}</td>
      <Figure value={openCalls} tone="active" />
      <Figure value={failures} tone="bad" />
      <Figure value={denials} tone="quiet" />
      <Figure value={unresolved} tone="unsure" />
      <td className="num">{formatDuration(lastAt - firstAt)}</td>
      <td className="num">
        <Age at={lastAt} />
      </td>
      <td className="num">
        <Age at={firstAt} />
      </td>
    </tr>
  );
}

/** Zero is shown as a muted dash. */
const Figure = ({ value, tone }: { readonly value: number; readonly tone: Tone }): ReactNode => (
  <td className="num figure" data-tone={tone}>
    {value === 0 ? <span className="muted">–</span> : value.toLocaleString()}
  </td>
);
