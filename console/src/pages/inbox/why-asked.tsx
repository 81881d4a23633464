import type { ReactNode } from 'react';
import type { DecidedBy } from '../../../../src/call/event.ts';
import type { ShownConfirmation } from '../../../../src/view/tool-call-view.ts';
import { addressOf } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';

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
  const name = <ForeignText text={by.name} />;
  return by.type === 'rule' ? <Link to={addressOf(['contracts'])}>{name}</Link> : <strong>{name}</strong>;
}
