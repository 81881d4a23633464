/** Every MCP server behind a gateway of this ledger. */
import type { ReactNode } from 'react';
import type { McpServerList, McpServerRow } from '@quittance/server/internal/http/api/mcp';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import '../../styles/servers.css';
import { Ago } from '../../ui/ago.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { StateBadge } from './server-state.tsx';
import { Trouble } from './trouble.tsx';

const snippet = `quittance mcp install --client claude-desktop --observe`;

export default function Servers(): ReactNode {
  const list = useAnswer<McpServerList>('/v1/mcp/servers', {}, { everyMs: 3_000 });
  const rows = list.data?.rows;
  return (
    <>
      <PageHead
        title="Servers"
        about="MCP servers behind the gateways of this ledger: their state, their tools and what they may do."
      />
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {rows === undefined ? (
        list.error === undefined && <Skeleton rows={6} />
      ) : rows.length === 0 ? (
        <Empty title="No MCP servers yet" snippet={snippet}>
          A gateway checks and records the calls of MCP tools. Put the servers of a client behind one, and
          start the client:
        </Empty>
      ) : (
        <ul className="server-list">
          {rows.map((server) => (
            <li key={server.serverId}>
              <ServerCard server={server} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function ServerCard({ server }: { readonly server: McpServerRow }): ReactNode {
  const { serverId, name, state, transport, address, trusted, seenAt } = server;
  const isCurrent = state !== 'stale' && state !== 'disconnected';
  return (
    <article className="card server-card" data-current={isCurrent}>
      <header>
        <h2>
          <Link to={addressOf(['servers', serverId])}>
            <ForeignId id={name} />
          </Link>
        </h2>
        <StateBadge state={state} />
      </header>
      <div className="body">
        <p className="server-place">
          {transport !== undefined && <span className="chip">{transport}</span>}
          {trusted && <span className="chip">trusted</span>}
          <code>
            <ForeignText text={address} />
          </code>
        </p>
        <Trouble server={server} />
        <dl className="server-figures">
          <Tools server={server} />
          <Calls server={server} />
          <div>
            <dt>Last report</dt>
            <dd>{seenAt === undefined ? 'none' : <Ago at={seenAt} />}</dd>
          </div>
        </dl>
      </div>
    </article>
  );
}

function Tools({ server: { serverId, tools } }: { readonly server: McpServerRow }): ReactNode {
  const open = tools.unknown + tools.changed;
  return (
    <>
      <div>
        <dt>Tools</dt>
        <dd>
          <Link to={addressOf(['servers', serverId])}>{tools.listed.toLocaleString()}</Link>
        </dd>
      </div>
      <div data-tone={tools.changed > 0 ? 'bad' : open > 0 ? 'attention' : 'quiet'}>
        <dt>To review</dt>
        <dd className={open > 0 ? 'server-open' : undefined}>
          {open === 0 ? (
            '0'
          ) : (
            <Link to={addressOf(['servers', serverId], { show: 'open' })}>
              {open.toLocaleString()}
              {tools.changed > 0 && ` (${tools.changed.toLocaleString()} changed)`}
            </Link>
          )}
        </dd>
      </div>
    </>
  );
}

/** Calls are filtered by tool, so the figure of a server leads to the figures of its tools. */
function Calls({
  server: { serverId, calls, errors, timeouts },
}: {
  readonly server: McpServerRow;
}): ReactNode {
  const to = addressOf(['servers', serverId], { sort: 'calls' });
  const bad = errors + timeouts;
  return (
    <>
      <div>
        <dt>Calls</dt>
        <dd>
          <Link to={to}>{calls.toLocaleString()}</Link>
        </dd>
      </div>
      <div data-tone={bad > 0 ? 'bad' : 'quiet'}>
        <dt>Errors</dt>
        <dd className={bad > 0 ? 'server-open' : undefined}>
          {bad === 0 ? '0' : <Link to={to}>{bad.toLocaleString()}</Link>}
        </dd>
      </div>
    </>
  );
}
