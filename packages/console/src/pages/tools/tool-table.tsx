import type { ReactNode } from 'react';
import { useRef } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import type { ToolRow } from '@quittance/server/internal/http/api/tool';
import { addressOf } from '../../route.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { modeOriginWords, modeWords } from '../../ui/mode-words.ts';
import { OutcomeBar } from '../../ui/outcome-bar.tsx';
import { Cost } from '../../ui/cost.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import { formatShare, toneOfShare } from './format-share.ts';
import type { ToolOrder } from './sort-tools.ts';

type Props = {
  readonly rows: readonly ToolRow[];
  readonly order: ToolOrder;
  readonly reverse: boolean;
  readonly onSort: (order: ToolOrder) => void;
};

export function ToolTable({ rows, order, reverse, onSort }: Props): ReactNode {
  const table = useRef<HTMLTableElement>(null);
  const step = (by: number): void => {
    const links = [...(table.current?.querySelectorAll<HTMLElement>('tbody a') ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[at === -1 ? 0 : at + by]?.focus();
  };
  useShortcuts({ j: () => step(1), k: () => step(-1) });
  const head = (name: ToolOrder, label: string, isNumber = true): ReactNode => (
    <th
      scope="col"
      className={isNumber ? 'num' : undefined}
      aria-sort={name === order ? ((name === 'name') === reverse ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" className="ghost sort" onClick={() => onSort(name)}>
        {label}
        <span aria-hidden="true" className="sort-mark">
          {name !== order ? '' : (name === 'name') === reverse ? '↓' : '↑'}
        </span>
      </button>
    </th>
  );
  return (
    <div className="card tool-table" tabIndex={0} role="group" aria-label="Tools">
      <table ref={table} className="card-rows">
        <caption className="hidden">Tools</caption>
        <thead>
          <tr>
            {head('name', 'Tool', false)}
            <th scope="col">Mode</th>
            {head('calls', 'Calls')}
            <th scope="col">Outcomes</th>
            {head('errors', 'Error rate')}
            {head('p50', 'p50')}
            {head('p95', 'p95')}
            {head('cost', 'Cost')}
            <th scope="col">Schema</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((tool) => (
            <Row key={tool.name} tool={tool} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ tool }: { readonly tool: ToolRow }): ReactNode {
  const { name, description, mode, modeOrigin, risk, known, handoff, calls, outcomes, errorRate, latency } =
    tool;
  return (
    <tr>
      <th scope="row" className="tool-name">
        <Link to={addressOf(['tools', name])}>
          <ForeignId id={name} />
        </Link>
        {description !== undefined && (
          <span className="muted clip" title={safeWords(description)}>
            <ForeignText text={description} />
          </span>
        )}
        {!known && <span className="muted">Not a tool of this server; known only from the ledger.</span>}
      </th>
      <td data-label="Mode">
        <span className="tool-mode">
          <span>{modeWords[mode]}</span>
          <span className="muted">
            {modeOriginWords[modeOrigin]}
            {handoff && ', handed off'}
            {risk !== undefined && `, risk: ${risk}`}
          </span>
        </span>
      </td>
      <td className="num" data-label="Calls">
        {calls.toLocaleString()}
      </td>
      <td className="tool-outcomes" data-label="Outcomes">
        <OutcomeBar outcomes={outcomes} />
      </td>
      <td className="num tinted" data-label="Error rate" data-tone={toneOfShare(errorRate)}>
        {formatShare(errorRate)}
      </td>
      <td className="num" data-label="p50">
        {formatDuration(latency.p50Ms)}
      </td>
      <td className="num" data-label="p95">
        {formatDuration(latency.p95Ms)}
      </td>
      <td className="num" data-label="Cost">
        <Cost micros={tool.costMicros} />
      </td>
      <td data-label="Schema">
        {tool.drifted ? (
          <span className="badge" data-tone="attention">
            changed
          </span>
        ) : tool.schemaDigest === undefined ? (
          <span className="muted">unknown</span>
        ) : (
          <span className="muted">unchanged</span>
        )}
      </td>
    </tr>
  );
}
