import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { Link } from '../../ui/link.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';
import { Age } from '../../ui/time.tsx';
import type { CallsAddress } from './calls-address.ts';

const mostRules = 6;

type Props = { readonly rules: Stats['rules']; readonly callsAt: CallsAddress };

/** The rules that denied calls of the period. Each count leads to its calls. */
export function RuleStops({ rules, callsAt }: Props): ReactNode {
  if (rules.length === 0) return null;
  return (
    <section className="rule-stops" aria-label="Rules that denied calls">
      <h3>Rules that denied calls</h3>
      <ul>
        {rules.slice(0, mostRules).map(({ ruleId, calls, lastAt }) => (
          <li key={ruleId}>
            <RuleLink ruleId={ruleId} policyVersion={undefined} />
            <span>
              <Link to={callsAt({ ruleId })}>
                {calls.toLocaleString()} {calls === 1 ? 'call' : 'calls'}
              </Link>
              <span className="muted">
                , last <Age at={lastAt} />
              </span>
            </span>
          </li>
        ))}
      </ul>
      {rules.length > mostRules && (
        <p className="muted">{(rules.length - mostRules).toLocaleString()} more rules denied calls.</p>
      )}
    </section>
  );
}
