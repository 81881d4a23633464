import type { ReactNode } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { SessionSummary } from 'quittance/internal/ledger/call-query';
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
      <td className="num" data-label={calls === 1 ? 'call' : 'calls'}>
        {calls.toLocaleString()}
      </td>
      <Figure label="open" value={openCalls} tone="active" />
      <Figure label="failed" value={failures} tone="bad" />
      <Figure label="denied" value={denials} tone="quiet" />
      <Figure label="unresolved" value={unresolved} tone="unsure" />
      <td className="num session-span">{formatDuration(lastAt - firstAt)}</td>
      <td className="num session-last">
        <Age at={lastAt} />
      </td>
      <td className="num session-first">
        <Age at={firstAt} />
      </td>
    </tr>
  );
}

/** Zero is shown as a muted dash. */
const Figure = ({
  label,
  value,
  tone,
}: {
  readonly label: string;
  readonly value: number;
  readonly tone: Tone;
}): ReactNode => (
  <td className="num figure" data-tone={tone} data-label={label} data-zero={value === 0}>
    {value === 0 ? <span className="muted">–</span> : value.toLocaleString()}
  </td>
);
