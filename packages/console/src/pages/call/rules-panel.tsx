import type { ReactNode } from 'react';
import type { CallEvent, RuleMark } from 'quittance/internal/call/event';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';

type Fired = RuleMark & { readonly when: 'before' | 'after' };

/** The rules that fired on the call or on its result. */
export function RulesPanel({
  events,
  policyVersion,
}: {
  readonly events: readonly CallEvent[];
  /** The version of the rules that decided about the call. */
  readonly policyVersion: string | undefined;
}): ReactNode {
  const fired = events.flatMap((event): readonly Fired[] =>
    event.type === 'tool.decided'
      ? event.rules.map((rule) => ({ ...rule, when: 'before' }))
      : event.type === 'tool.responded'
        ? event.rules.map((rule) => ({ ...rule, when: 'after' }))
        : [],
  );
  if (fired.length === 0) return <p className="muted">No rule fired.</p>;
  return (
    <table className="card-rows">
      <thead>
        <tr>
          <th scope="col">Rule</th>
          <th scope="col">Action</th>
          <th scope="col">Phase</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        {fired.map(({ ruleId, action, message, when, observed, policyError, tags = [] }, index) => (
          <tr key={index}>
            <th scope="row">
              <RuleLink ruleId={ruleId} policyVersion={policyVersion} />
            </th>
            <td data-label="Action">
              <span className="badge" data-tone={observed ? 'quiet' : tones[action]}>
                {observed ? `would ${action}` : action}
              </span>
            </td>
            <td data-label="Phase" className="muted">
              {when === 'before' ? 'before execution' : 'on the result'}
            </td>
            <td data-label="Message">
              <ForeignText text={message} />
              {policyError && <em> It fired because a value had the wrong type.</em>}
              {tags.map((tag) => (
                <span key={tag} className="chip">
                  <ForeignText text={tag} />
                </span>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const tones = { block: 'bad', ask: 'attention', warn: 'attention', redact: 'active' } as const;
