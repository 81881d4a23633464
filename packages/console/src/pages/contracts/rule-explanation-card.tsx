import type { ReactNode } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import type { ContractsExplanation } from '@quittance/server/internal/http/api/contract';
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
  observed: { word: 'would have fired', tone: 'attention' },
  quiet: { word: 'not fired', tone: 'quiet' },
  other_tool: { word: 'other tool', tone: 'quiet' },
  not_asked: { word: 'not checked', tone: 'quiet' },
};

/** One rule: the values it checked, and its result. */
export function RuleExplanationCard({ explained }: { readonly explained: Explained }): ReactNode {
  const { verdict, fired, leaves, resources, limits } = explained;
  const { word, tone } = verdicts[verdict];
  return (
    <section className="card explained">
      <header>
        <RuleName explained={explained} />
        <span className="badge" data-tone={fired?.action === 'ask' ? 'attention' : tone}>
          {fired === undefined || verdict === 'observed' ? word : fired.action}
        </span>
      </header>
      {fired !== undefined && (
        <p className="body explained-message">
          <ForeignText text={fired.message} />
          {fired.policyError && (
            <span className="muted"> The rule fired because a value had the wrong type.</span>
          )}
        </p>
      )}
      {leaves.length > 0 && <Conditions leaves={leaves} />}
      {(resources.length > 0 || limits.length > 0) && (
        <ul className="body rule-notes">
          {resources.map((resource, index) => (
            <li key={`resource ${index}`}>
              <ResourceLine resource={resource} />
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

const RuleName = ({
  explained: { ruleId, ruleType, source, line },
}: {
  readonly explained: Explained;
}): ReactNode => (
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
);

/** The conditions of the rule, each with the value it found. */
const Conditions = ({ leaves }: Pick<Explained, 'leaves'>): ReactNode => (
  <div className="rule-table" tabIndex={0} role="group" aria-label="Conditions">
    <table>
      <caption className="hidden">Conditions</caption>
      <thead>
        <tr>
          <th scope="col">Selector</th>
          <th scope="col">Condition</th>
          <th scope="col">Value</th>
          <th scope="col">Result</th>
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
                <span className="muted">missing</span>
              ) : (
                <code>
                  <Value value={value} />
                </code>
              )}
            </td>
            <td>{truth === 'error' ? 'wrong type' : truth ? 'true' : 'false'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A path, host or command in the call, and whether the sandbox contains it. */
const ResourceLine = ({
  resource: { kind, text, leadsTo, inside },
}: {
  readonly resource: Explained['resources'][number];
}): ReactNode => (
  <>
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
    : {inside === undefined ? 'not covered by the rule' : inside ? 'inside' : 'outside'}
  </>
);

const Value = ({ value }: { readonly value: JsonValue }): ReactNode => (
  <ForeignText text={JSON.stringify(value)} />
);
