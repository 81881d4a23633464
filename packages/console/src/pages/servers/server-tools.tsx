/** The tools of a server with their reviews and figures. */
import type { ReactNode } from 'react';
import type { McpToolRow } from '@quittance/server/internal/http/api/mcp';
import { addressOf, useRoute } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { modeWords } from '../../ui/mode-words.ts';
import { needsReview, ReviewBadge } from './server-state.tsx';

type Props = { readonly serverId: string; readonly tools: readonly McpToolRow[] };

export function ServerTools({ serverId, tools }: Props): ReactNode {
  const { query } = useRoute();
  const showsOpen = query.get('show') === 'open';
  const byCalls = query.get('sort') === 'calls';
  const open = tools.filter(needsReview);
  const shown = showsOpen ? open : tools;
  const rows = byCalls ? shown.toSorted((one, other) => other.calls - one.calls) : openFirst(shown);
  const [next] = open;
  return (
    <section className="card" aria-labelledby="server-tools">
      <header>
        <h2 id="server-tools">Tools</h2>
        <nav className="split-order" aria-label="Which tools">
          <Link to={addressOf(['servers', serverId])} aria-current={showsOpen ? undefined : 'true'}>
            All {tools.length.toLocaleString()}
          </Link>
          <Link
            to={addressOf(['servers', serverId], { show: 'open' })}
            aria-current={showsOpen ? 'true' : undefined}
          >
            To review {open.length.toLocaleString()}
          </Link>
        </nav>
        {next !== undefined && (
          <Link className="button primary" to={addressOf(['servers', serverId], { tool: next.name })}>
            Review tools
          </Link>
        )}
      </header>
      {rows.length === 0 ? (
        <p className="body muted">
          {tools.length === 0
            ? 'No gateway received a list of tools from this server yet.'
            : 'Every tool has an answer.'}
        </p>
      ) : (
        <DataTable name="Tools of the server" columns={columnsOf(serverId)} rows={rows} keyOf={keyOf} />
      )}
    </section>
  );
}

const keyOf = ({ name }: McpToolRow): string => name;

/** Changed tools first: a person approved something else. */
const openFirst = (tools: readonly McpToolRow[]): readonly McpToolRow[] => [
  ...tools.filter(({ status }) => status === 'changed'),
  ...tools.filter(({ status }) => status === 'unknown'),
  ...tools.filter((tool) => !needsReview(tool)),
];

const columnsOf = (serverId: string): readonly Column<McpToolRow>[] => [
  {
    head: 'Tool',
    className: 'wraps',
    cell: ({ name }) => (
      <Link className="mono" to={addressOf(['servers', serverId], { tool: name })}>
        <ForeignId id={name} />
      </Link>
    ),
  },
  { head: 'Review', cell: (tool) => <ReviewBadge tool={tool} /> },
  {
    head: 'Mode',
    cell: ({ mode, proposed }) =>
      mode === undefined ? <span className="muted">{modeWords[proposed]} (proposed)</span> : modeWords[mode],
  },
  {
    head: 'Notices',
    className: 'wraps',
    cell: ({ warnings }) =>
      warnings.length === 0 ? (
        <span className="muted">none</span>
      ) : (
        <ul className="server-warnings">
          {warnings.map(({ code, text }) => (
            <li key={code}>{text}</li>
          ))}
        </ul>
      ),
  },
  { head: 'Calls', className: 'num', cell: (tool) => <CallFigure tool={tool} count={tool.calls} /> },
  {
    head: 'Errors',
    className: 'num',
    cell: (tool) => <CallFigure tool={tool} count={tool.errors} outcome="ToolFailure" />,
  },
  {
    head: 'Timed out',
    className: 'num roomy',
    cell: (tool) => <CallFigure tool={tool} count={tool.timeouts} outcome="ToolTimeout" />,
  },
];

/** A number that leads to its calls. */
export function CallFigure({
  tool: { callNames, sharedWith },
  count,
  outcome,
}: {
  readonly tool: Pick<McpToolRow, 'callNames' | 'sharedWith'>;
  readonly count: number;
  readonly outcome?: 'ToolFailure' | 'ToolTimeout';
}): ReactNode {
  const [toolName] = callNames;
  const shared =
    sharedWith.length === 0 ? undefined : `Includes calls of the same name of: ${sharedWith.join(', ')}`;
  if (count === 0 || toolName === undefined) return <span className="muted">0</span>;
  return (
    <>
      <Link to={addressOf(['calls'], { toolName, outcome })} title={shared}>
        {count.toLocaleString()}
      </Link>
      {shared !== undefined && (
        <span className="muted" title={shared}>
          {' '}
          (shared)
        </span>
      )}
    </>
  );
}
