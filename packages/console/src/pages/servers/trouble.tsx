import type { ReactNode } from 'react';
import type { McpGatewayRow, McpServerRow } from '@quittance/server/internal/http/api/mcp';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { formatAge, useServerNow } from '../../ui/time.tsx';
import { describeState } from './server-state.tsx';

/** Why a server does not work, and when it is tried again. Nothing for a server that works. */
export function Trouble({ server: { state, gateways } }: { readonly server: McpServerRow }): ReactNode {
  if (state === 'stale' || state === 'disconnected')
    return <p className="muted">{describeState(state).means}</p>;
  const failing = gateways.find((gateway) => gateway.state === 'live' && gateway.status === 'failed');
  return failing === undefined ? null : <Failure gateway={failing} />;
}

export function Failure({
  gateway: { lastError, failures, retryAt },
}: {
  readonly gateway: McpGatewayRow;
}): ReactNode {
  const now = useServerNow(1_000);
  return (
    <p className="server-failure" data-tone="bad">
      <strong>
        {failures === 1 ? 'Failed once.' : `Failed ${failures.toLocaleString()} times in a row.`}{' '}
        {retryAt === undefined || retryAt <= now
          ? 'The next request starts it again.'
          : `It is not started again for ${formatAge(retryAt - now)}.`}
      </strong>
      {lastError !== undefined && (
        <span>
          {' '}
          <ForeignText text={lastError} />
        </span>
      )}
    </p>
  );
}
