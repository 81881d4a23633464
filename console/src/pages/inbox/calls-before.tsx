import type { ReactNode } from 'react';
import { safeText } from '../../../../src/base/safe-text.ts';
import type { CallPage } from '../../../../src/http/api/call.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../router.ts';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Age } from '../../ui/time.tsx';

const shownCalls = 6;

/** What else the agent did lately in the session: whether a call makes sense is seldom seen from the call alone. */
export function CallsBefore({
  sessionId,
  callId,
}: {
  readonly sessionId: string;
  readonly callId: string;
}): ReactNode {
  const page = useAnswer<CallPage>('/v1/calls', { sessionId, limit: shownCalls + 1 });
  const others = page.data?.rows.filter((call) => call.callId !== callId).slice(0, shownCalls) ?? [];
  if (others.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h3>Also in this session</h3>
        <Link to={addressOf(['sessions', sessionId])}>Timeline</Link>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Tool</th>
            <th scope="col">Message</th>
            <th scope="col" className="num">
              Age
            </th>
          </tr>
        </thead>
        <tbody>
          {others.map((call) => (
            <tr key={call.callId}>
              <td>
                <OutcomeBadge call={call} />
              </td>
              <td>
                <Link to={addressOf(['calls', sessionId, call.callId])}>{safeText(call.toolName)}</Link>
              </td>
              <td className="muted before-message">{safeText(call.message ?? '')}</td>
              <td className="num">
                <Age at={call.requestedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
