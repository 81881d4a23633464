import type { ReactNode } from 'react';
import type { CallPage } from '../../../../src/http/api/call.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../router.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';

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
        <Link to={addressOf(['calls'], { toolName })}>All of them</Link>
      </header>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? (
        <div className="body">{error === undefined && <Skeleton rows={4} />}</div>
      ) : data.rows.length === 0 ? (
        <p className="body muted">Nobody has called it yet.</p>
      ) : (
        <div className="tool-table" tabIndex={0} role="group" aria-labelledby="latest-calls">
          <table>
            <caption className="hidden">Latest calls</caption>
            <thead>
              <tr>
                <th scope="col">Outcome</th>
                <th scope="col">Call</th>
                <th scope="col">Session</th>
                <th scope="col">Why</th>
                <th scope="col" className="num">
                  Duration
                </th>
                <th scope="col" className="num">
                  Age
                </th>
              </tr>
            </thead>
            <tbody>
              {data.rows.map((call) => (
                <tr key={`${call.sessionId} ${call.callId}`}>
                  <td>
                    <OutcomeBadge call={call} />
                  </td>
                  <td>
                    <Link to={addressOf(['calls', call.sessionId, call.callId])}>
                      <ForeignText text={call.callId} />
                    </Link>
                  </td>
                  <td>
                    <ForeignText text={call.sessionId} />
                  </td>
                  <td className="muted latest-why">
                    {call.message !== undefined && <ForeignText text={call.message} />}
                  </td>
                  <td className="num">{formatDuration(call.attempts === 0 ? undefined : call.elapsedMs)}</td>
                  <td className="num">
                    <Age at={call.requestedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
