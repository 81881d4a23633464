import type { ReactNode } from 'react';
import type { RuleHit } from '@quittance/server/internal/http/api/contract';
import { addressOf } from '../../route.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Age } from '../../ui/time.tsx';
import { ActionBadge } from '../../ui/action-badge.tsx';

/** Recent hits of workflow stages and of rules no longer in force. */
export function OtherHits({ hits }: { readonly hits: readonly RuleHit[] }): ReactNode {
  return (
    <section className="card" aria-labelledby="other-hits">
      <header>
        <h2 id="other-hits">Other recent hits</h2>
        <span className="muted">by workflows and by rules no longer in force</span>
      </header>
      <div className="rule-table" tabIndex={0} role="group" aria-labelledby="other-hits">
        <table className="card-rows">
          <caption className="hidden">Other recent hits</caption>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Action</th>
              <th scope="col" className="num">
                Hits
              </th>
              <th scope="col" className="num">
                Observed
              </th>
              <th scope="col">Last hit</th>
            </tr>
          </thead>
          <tbody>
            {hits.map(({ ruleId, action, hits: count, observed, lastAt, lastCall }) => (
              <tr key={ruleId}>
                <th scope="row" className="rule-name">
                  <code>
                    <ForeignText text={ruleId} />
                  </code>
                </th>
                <td data-label="Action">
                  <ActionBadge action={action} />
                </td>
                <td data-label="Hits" className="num">
                  {count.toLocaleString()}
                </td>
                <td data-label="Observed" className="num">
                  {observed.toLocaleString()}
                </td>
                <td data-label="Last hit">
                  <Link to={addressOf(['calls', lastCall.sessionId, lastCall.callId])}>
                    <Age at={lastAt} />
                    <span className="hidden"> ago, last call</span>
                  </Link>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
