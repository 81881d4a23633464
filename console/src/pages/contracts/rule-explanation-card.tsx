import type { ReactNode } from 'react';
import type { JsonValue } from '../../../../src/base/json.ts';
import type { ContractsExplanation } from '../../../../src/http/api/contract.ts';
import { addressOf } from '../../route.ts';
import { baseName } from '../../ui/base-name.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Explained = ContractsExplanation['rules'][number];

const verdicts: {
  readonly [Verdict in Explained['verdict']]: { readonly word: string; readonly tone: Tone };
} = {
  fired: { word: 'fired', tone: 'bad' },
  observed: { word: 'would have', tone: 'attention' },
  quiet: { word: 'nothing to say', tone: 'quiet' },
  other_tool: { word: 'about other tools', tone: 'quiet' },
  not_asked: { word: 'not asked', tone: 'quiet' },
};

/** One rule: what it looked at, what it found, and what it said. */
export function RuleExplanationCard({ explained }: { readonly explained: Explained }): ReactNode {
  const { ruleId, ruleType, source, line, verdict, fired, leaves, resources, limits } = explained;
  const { word, tone } = verdicts[verdict];
  return (
    <section className="card explained">
      <header>
        <h2 className="explained-name">
          <code>
            <ForeignText text={ruleId} />
          </code>{' '}
          <span className="muted">
            {ruleType},{' '}
            <Link
              to={addressOf(['contracts', 'documents'], {
                document: source,
                line: line === undefined ? undefined : String(line),
              })}
            >
              <ForeignText text={line === undefined ? baseName(source) : `${baseName(source)}:${line}`} />
            </Link>
          </span>
        </h2>
        <span className="badge" data-tone={fired?.action === 'ask' ? 'attention' : tone}>
          {fired === undefined || verdict === 'observed' ? word : fired.action}
        </span>
      </header>
      {fired !== undefined && (
        <p className="body explained-message">
          <ForeignText text={fired.message} />
          {fired.policyError && (
            <span className="muted">
              {' '}
              The condition met a value of the wrong type, which makes a rule fire.
            </span>
          )}
        </p>
      )}
      {leaves.length > 0 && (
        <div className="rule-table" tabIndex={0} role="group" aria-label="What it looked at">
          <table>
            <caption className="hidden">What it looked at</caption>
            <thead>
              <tr>
                <th scope="col">Looked at</th>
                <th scope="col">Condition</th>
                <th scope="col">Found</th>
                <th scope="col">So</th>
              </tr>
            </thead>
            <tbody>
              {leaves.map(({ selector, operator, operand, value, truth }, index) => (
                <tr key={index}>
                  <td>
                    <code>
                      <ForeignText text={selector} />
                    </code>
                  </td>
                  <td>
                    <code>
                      {operator} <Value value={operand} />
                    </code>
                  </td>
                  <td>
                    {value === undefined ? (
                      <span className="muted">nothing</span>
                    ) : (
                      <code>
                        <Value value={value} />
                      </code>
                    )}
                  </td>
                  <td>{truth === 'error' ? 'is of the wrong type' : truth ? 'holds' : 'does not hold'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(resources.length > 0 || limits.length > 0) && (
        <ul className="body rule-notes">
          {resources.map(({ kind, text, leadsTo, inside }, index) => (
            <li key={`resource ${index}`}>
              {kind}{' '}
              <code>
                <ForeignText text={text} />
              </code>
              {leadsTo.map((place) => (
                <span key={place}>
                  {' '}
                  leads to{' '}
                  <code>
                    <ForeignText text={place} />
                  </code>
                </span>
              ))}
              : {inside === undefined ? 'the rule says nothing about it' : inside ? 'inside' : 'outside'}
            </li>
          ))}
          {limits.map(({ counter, limit, used }) => (
            <li key={counter}>
              {counter.replaceAll('_', ' ')}: {used.toLocaleString()} of {limit.toLocaleString()} used before
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const Value = ({ value }: { readonly value: JsonValue }): ReactNode => (
  <ForeignText text={JSON.stringify(value)} />
);
