import type { ReactNode } from 'react';
import type { RuleHits } from '../../../../src/http/api/contract.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import { ActionBadge } from '../../ui/action-badge.tsx';
import { Link } from '../../ui/link.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';
import { Age } from '../../ui/time.tsx';

/** The rules that acted on the newest calls. */
export function RuleStops(): ReactNode {
  const { data } = useAnswer<RuleHits>('/v1/contracts/hits', {}, { everyMs: 15_000 });
  const rules = data?.rules.filter(({ hits }) => hits > 0) ?? [];
  if (data === undefined || rules.length === 0) return null;
  return (
    <section className="rule-stops" aria-label="Rules that acted">
      <h3>Rules that acted on the newest {data.calls.toLocaleString()} calls</h3>
      <ul>
        {rules.slice(0, 6).map(({ ruleId, action, hits, lastAt, lastCall }) => (
          <li key={ruleId}>
            <RuleLink ruleId={ruleId} policyVersion={undefined} />
            <ActionBadge action={action} />
            <span className="num">{hits.toLocaleString()}</span>
            <Link to={addressOf(['calls', lastCall.sessionId, lastCall.callId])} className="muted">
              last <Age at={lastAt} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
