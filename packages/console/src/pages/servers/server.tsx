/** One MCP server: its gateways, its tools with their reviews, and the changes of its tools. */
import type { ReactNode } from 'react';
import type { McpServerDetail } from '@quittance/server/internal/http/api/mcp';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import '../../styles/overview.css';
import '../../styles/servers.css';
import '../../styles/tools.css';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, Missing } from '../../ui/missing.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { formatTime } from '../../ui/time.tsx';
import { addressOf } from '../../route.ts';
import { GatewayList } from './gateway-list.tsx';
import { ServerTools } from './server-tools.tsx';
import { StateBadge } from './server-state.tsx';
import { Trouble } from './trouble.tsx';

export default function ServerPage({ serverId }: { readonly serverId: string }): ReactNode {
  const { data, error, reload } = useAnswer<McpServerDetail>(
    pathOf('mcp', 'servers', serverId),
    {},
    { everyMs: 3_000 },
  );
  if (isNotFound(error))
    return (
      <>
        <PageHead title="Server" />
        <Missing what="server" id={serverId} to="/servers" list="All servers">
          No gateway of this ledger reports it. It may be switched off or renamed.
        </Missing>
      </>
    );
  return (
    <>
      <nav aria-label="Breadcrumb">
        <Link to="/servers">Servers</Link>
      </nav>
      <PageHead title={<ForeignId id={data?.server.name ?? serverId} />}>
        {data !== undefined && <StateBadge state={data.server.state} />}
      </PageHead>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? error === undefined && <Skeleton rows={8} /> : <Board detail={data} />}
    </>
  );
}

function Board({ detail: { server, tools, changes } }: { readonly detail: McpServerDetail }): ReactNode {
  const { serverId, transport, address, trusted } = server;
  return (
    <div className="tool-board">
      <section className="card" aria-labelledby="connection">
        <header>
          <h2 id="connection">Connection</h2>
        </header>
        <div className="body">
          <Trouble server={server} />
          <dl className="facts">
            <dt>Transport</dt>
            <dd>{transport ?? 'not reported'}</dd>
            <dt>{transport === 'stdio' ? 'Command' : 'Address'}</dt>
            <dd>
              <code>
                <ForeignText text={address} />
              </code>
            </dd>
            <dt>Annotations</dt>
            <dd>
              {trusted
                ? 'The configuration trusts this server: its annotations may lower the risk of a tool.'
                : 'Not trusted: annotations of this server can only make a tool riskier.'}
            </dd>
          </dl>
          <GatewayList gateways={server.gateways} />
        </div>
      </section>
      <ServerTools serverId={serverId} tools={tools} />
      <section className="card" aria-labelledby="changes">
        <header>
          <h2 id="changes">Changes of tools</h2>
        </header>
        <div className="body">
          {changes.length === 0 ? (
            <p className="muted">The list of tools has not changed since it was first read.</p>
          ) : (
            <ul className="schema-changes">
              {changes.map(({ tool, how, at }, index) => (
                <li key={index}>
                  <span className="badge" data-tone={how === 'changed' ? 'bad' : 'quiet'}>
                    {how}
                  </span>
                  {how === 'removed' ? (
                    <code>
                      <ForeignId id={tool} />
                    </code>
                  ) : (
                    <Link to={addressOf(['servers', serverId], { tool })}>
                      <ForeignId id={tool} />
                    </Link>
                  )}
                  <time className="muted" dateTime={new Date(at).toISOString()}>
                    {formatTime(at)}
                  </time>
                </li>
              ))}
            </ul>
          )}
        </div>
      </section>
    </div>
  );
}
