import type { ReactNode } from 'react';
import type { McpGatewayRow } from '@quittance/server/internal/http/api/mcp';
import { Ago } from '../../ui/ago.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { FewLines } from '../../ui/few-lines.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { gatewayStates, serverStatuses } from './server-state.tsx';

const columns: readonly Column<McpGatewayRow>[] = [
  {
    head: 'Gateway',
    cell: ({ state, observes }) => (
      <>
        <span className="badge" data-tone={state === 'live' ? 'good' : 'quiet'}>
          {gatewayStates[state]}
        </span>
        {observes && (
          <>
            {' '}
            <span className="chip">observes</span>
          </>
        )}
      </>
    ),
  },
  {
    head: 'Client',
    cell: ({ clients }) =>
      clients.length === 0 ? <span className="muted">none</span> : <ForeignText text={clients.join(', ')} />,
  },
  {
    head: 'Server',
    // Only a running gateway knows the state of the server now.
    cell: ({ state, status, connections }) =>
      state === 'live' ? (
        `${serverStatuses[status]}${connections > 1 ? ` (${connections} connections)` : ''}`
      ) : (
        <span className="muted">was {serverStatuses[status]}</span>
      ),
  },
  { head: 'Restarts', className: 'num', cell: ({ restarts }) => restarts.toLocaleString() },
  { head: 'Violations', className: 'num roomy', cell: ({ oddities }) => oddities.toLocaleString() },
  {
    head: 'Last error',
    className: 'wraps',
    cell: ({ lastError }) =>
      lastError === undefined ? <span className="muted">none</span> : <FewLines text={lastError} />,
  },
  { head: 'Last report', cell: ({ seenAt }) => <Ago at={seenAt} /> },
];

/** The gateways in front of a server. Each client usually starts its own. */
export const GatewayList = ({ gateways }: { readonly gateways: readonly McpGatewayRow[] }): ReactNode =>
  gateways.length === 0 ? (
    <p className="muted">No gateway reported this server yet.</p>
  ) : (
    <DataTable name="Gateways" columns={columns} rows={gateways} keyOf={({ gatewayId }) => gatewayId} />
  );
