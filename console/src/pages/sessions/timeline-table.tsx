import type { ReactNode } from 'react';
import { safeText } from '../../../../src/base/safe-text.ts';
import type { Timeline, TimelineCall } from '../../../../src/http/api/session.ts';
import { addressOf } from '../../router.ts';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';
import { relationWords } from './links-between.ts';
import { measureCall } from './measure-call.ts';

type Props = {
  readonly timeline: Timeline;
  readonly now: number;
  readonly active: string | undefined;
  readonly onActive: (callId: string | undefined) => void;
};

/** The same calls in words, newest first. */
export function TimelineTable({ timeline, now, active, onActive }: Props): ReactNode {
  return (
    <div className="card wide-table">
      <table onMouseLeave={() => onActive(undefined)}>
        <caption className="hidden">The calls of the timeline</caption>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Tool</th>
            <th scope="col">Call</th>
            <th scope="col">Message</th>
            <th scope="col" className="num roomy">
              Attempts
            </th>
            <th scope="col" className="num">
              Held
            </th>
            <th scope="col" className="num">
              Ran
            </th>
            <th scope="col" className="num">
              Age
            </th>
          </tr>
        </thead>
        <tbody>
          {timeline.rows.map((row) => (
            <Row
              key={row.call.callId}
              row={row}
              now={now}
              isActive={row.call.callId === active}
              onActive={onActive}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({
  row: { call, spans, related },
  now,
  isActive,
  onActive,
}: {
  readonly row: TimelineCall;
  readonly now: number;
  readonly isActive: boolean;
  readonly onActive: (callId: string | undefined) => void;
}): ReactNode {
  const { heldMs, ranMs } = measureCall(spans, now);
  return (
    <tr data-active={isActive} onMouseEnter={() => onActive(call.callId)}>
      <td>
        <OutcomeBadge call={call} />
      </td>
      <td>{safeText(call.toolName)}</td>
      <td className="clip call-id">
        <Link
          to={addressOf(['calls', call.sessionId, call.callId])}
          title={safeText(call.callId)}
          onFocus={() => onActive(call.callId)}
        >
          {safeText(call.callId)}
        </Link>
      </td>
      <td className="wraps muted">
        {safeText(call.message ?? '')}
        {related.map(({ how, sessionId, callId }) => (
          <span key={`${how} ${sessionId} ${callId}`} className="relation">
            {relationWords[how]} <Link to={addressOf(['calls', sessionId, callId])}>{safeText(callId)}</Link>
          </span>
        ))}
      </td>
      <td className="num roomy">{call.attempts === 0 ? '–' : call.attempts}</td>
      <td className="num">{heldMs === 0 ? '–' : formatDuration(heldMs)}</td>
      <td className="num">{call.attempts === 0 ? '–' : formatDuration(ranMs)}</td>
      <td className="num">
        <Age at={call.requestedAt} />
      </td>
    </tr>
  );
}
