import type { ReactNode } from 'react';
import type { CallEvent, RuleMark } from '../../../../src/call/event.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';

type Fired = RuleMark & { readonly when: 'before' | 'after' };

/** The rules that had something to say, before the body ran and about what it gave. */
export function RulesPanel({ events }: { readonly events: readonly CallEvent[] }): ReactNode {
  const fired = events.flatMap((event): readonly Fired[] =>
    event.type === 'tool.decided'
      ? event.rules.map((rule) => ({ ...rule, when: 'before' }))
      : event.type === 'tool.responded'
        ? event.rules.map((rule) => ({ ...rule, when: 'after' }))
        : [],
  );
  if (fired.length === 0) return <p className="muted">No rule had anything to say.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Rule</th>
          <th scope="col">Said</th>
          <th scope="col">When</th>
          <th scope="col">In words</th>
        </tr>
      </thead>
      <tbody>
        {fired.map(({ ruleId, action, message, when, observed, policyError, tags = [] }, index) => (
          <tr key={index}>
            <th scope="row">
              <code>
                <ForeignText text={ruleId} />
              </code>
            </th>
            <td>
              <span className="badge" data-tone={observed ? 'quiet' : tones[action]}>
                {observed ? `would ${action}` : action}
              </span>
            </td>
            <td className="muted">{when === 'before' ? 'before it ran' : 'about the result'}</td>
            <td>
              <ForeignText text={message} />
              {policyError && <em> It met a value of the wrong type, and so it fired.</em>}
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
