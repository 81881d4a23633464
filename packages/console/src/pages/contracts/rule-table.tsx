import type { ReactNode } from 'react';
import { addressOf } from '../../route.ts';
import { baseName } from '../../ui/base-name.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Age } from '../../ui/time.tsx';
import { ActionBadge } from '../../ui/action-badge.tsx';
import type { RuleWithHits } from './join-hits.ts';

type Props = {
  readonly rows: readonly RuleWithHits[];
  /** Are the hit counts loaded? */
  readonly counted: boolean;
};

export function RuleTable({ rows, counted }: Props): ReactNode {
  return (
    <div className="card rule-table" tabIndex={0} role="group" aria-label="Rules in force">
      <table className="card-rows">
        <caption className="hidden">Rules in force</caption>
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">Tool</th>
            <th scope="col">Type</th>
            <th scope="col">Action</th>
            <th scope="col" className="num" title="All calls that the rule denied">
              Denied
            </th>
            <th scope="col" className="num" title="Newest calls that the rule acted on">
              Hits
            </th>
            <th scope="col" className="num" title="Calls that a rule in observe mode would have acted on">
              Observed
            </th>
            <th scope="col">Last hit</th>
            <th scope="col">Source</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.rule.ruleId} row={row} counted={counted} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({
  row: { rule, hit, denied },
  counted,
}: {
  readonly row: RuleWithHits;
  readonly counted: boolean;
}): ReactNode {
  const { ruleId, tool, type, mode, action, source, line } = rule;
  return (
    <tr>
      <RuleName rule={rule} />
      <td className="rule-tool" data-label="Tool">
        {tool === undefined ? (
          <span className="muted">all tools</span>
        ) : (
          <code>
            <ForeignText text={tool} />
          </code>
        )}
      </td>
      <td data-label="Type">{type}</td>
      <td data-label="Action">
        <span className="rule-action">
          {action === undefined ? <span className="muted">–</span> : <ActionBadge action={action} />}
          {mode === 'observe' && <span className="chip">observe</span>}
        </span>
      </td>
      <td className="num" data-label="Denied">
        {denied === 0 ? (
          <HitCount counted={counted} value={0} />
        ) : (
          <Link to={addressOf(['calls'], { ruleId })}>
            {denied.toLocaleString()}
            <span className="hidden"> calls denied</span>
          </Link>
        )}
      </td>
      <td className="num" data-label="Hits">
        <HitCount counted={counted} value={hit?.hits} />
      </td>
      <td className="num" data-label="Observed">
        <HitCount counted={counted} value={hit?.observed} />
      </td>
      <td data-label="Last hit">
        {hit === undefined ? (
          <span className="muted">{counted ? 'never' : '…'}</span>
        ) : (
          <Link to={addressOf(['calls', hit.lastCall.sessionId, hit.lastCall.callId])}>
            <Age at={hit.lastAt} />
            <span className="hidden"> ago, last call it hit</span>
          </Link>
        )}
      </td>
      <td data-label="Source">
        <Link
          to={addressOf(['contracts', 'documents'], {
            document: source,
            line: line === undefined ? undefined : String(line),
          })}
        >
          <ForeignText text={baseName(source)} />
          {line !== undefined && `:${line}`}
        </Link>
      </td>
    </tr>
  );
}

const RuleName = ({ rule: { ruleId, message, tags } }: Pick<RuleWithHits, 'rule'>): ReactNode => (
  <th scope="row" className="rule-name">
    <code>
      <ForeignText text={ruleId} />
    </code>
    {message !== undefined && (
      <p className="muted">
        <ForeignText text={message} />
      </p>
    )}
    {tags.length > 0 && (
      <span className="rule-tags">
        {tags.map((tag) => (
          <span key={tag} className="chip">
            <ForeignText text={tag} />
          </span>
        ))}
      </span>
    )}
  </th>
);

/** Three dots until the counts are loaded. */
const HitCount = ({
  counted,
  value = 0,
}: {
  readonly counted: boolean;
  readonly value: number | undefined;
}): ReactNode => (counted ? value === 0 ? <span className="muted">0</span> : value.toLocaleString() : '…');
