import type { ReactNode } from 'react';
import type { DecidedBy } from 'quittance/internal/call/event';
import type { ShownConfirmation } from 'quittance/internal/view/tool-call-view';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';

/** Who asks for approval, and why: gates, hooks, rules and workflow stages. */
export function WhyAsked({ confirmation }: { readonly confirmation: ShownConfirmation }): ReactNode {
  const { asks, risk } = confirmation;
  return (
    <section className="question-part">
      <h3>Reasons for approval</h3>
      <ul className="question-asks">
        {asks.map(({ by, description, code }, index) => (
          <li key={index}>
            <span className="chip">
              {by.type} <Asker by={by} />
            </span>
            <span>
              <ForeignText text={description} />
              {code !== undefined && (
                <>
                  {' '}
                  <code className="muted">{code}</code>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {risk.length > 0 && (
        <ul className="question-risks" aria-label="Risks">
          {risk.map((word) => (
            <li key={word} className="chip">
              <ForeignText text={word} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Asker({ by }: { readonly by: DecidedBy }): ReactNode {
  return by.type === 'rule' ? (
    <RuleLink ruleId={by.name} policyVersion={undefined} />
  ) : (
    <strong>
      <ForeignText text={by.name} />
    </strong>
  );
}
