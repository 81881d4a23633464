import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { addressOf } from '../../route.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Age } from '../../ui/time.tsx';
import { Countdown } from '../inbox/countdown.tsx';

/** Calls that wait for a person, longest first. */
export function WaitingList({ now }: Pick<Stats, 'now'>): ReactNode {
  const { held, unresolved, waiting, doubtful } = now;
  if (held + unresolved === 0) return <p className="muted">No call waits for a person.</p>;
  return (
    <div className="waiting-now">
      {held > 0 && (
        <section aria-label="Awaiting approval">
          <h3>
            <Link to="/inbox">
              {held === 1 ? '1 call awaits' : `${held.toLocaleString()} calls await`} approval
            </Link>
          </h3>
          <ul>
            {waiting.map(({ confirmationId, toolName, askedAt, expiresAt }) => (
              <li key={confirmationId}>
                <Link to={addressOf(['inbox', confirmationId])}>
                  <code>
                    <ForeignId id={toolName} />
                  </code>
                </Link>
                <span className="muted">
                  for <Age at={askedAt} />
                </span>
                <Countdown expiresAt={expiresAt} timeoutEffect="block" short />
              </li>
            ))}
          </ul>
        </section>
      )}
      {unresolved > 0 && (
        <section aria-label="To reconcile">
          <h3>
            <Link to="/reconcile">
              {unresolved === 1 ? '1 call' : `${unresolved.toLocaleString()} calls`} to reconcile
            </Link>
          </h3>
          <ul>
            {doubtful.map(({ sessionId, callId, toolName, requestedAt }) => (
              <li key={`${sessionId} ${callId}`}>
                <Link to={addressOf(['reconcile', sessionId, callId])}>
                  <code>
                    <ForeignId id={toolName} />
                  </code>
                </Link>
                <span className="muted">
                  for <Age at={requestedAt} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
