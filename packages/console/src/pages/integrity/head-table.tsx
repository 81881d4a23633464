/** Heads of all chains. Only visible rows are in the DOM. */
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ReactNode } from 'react';
import { useEffect, useRef } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { HeadPage } from '@quittance/server/internal/http/api/job';
import type { Head } from 'quittance/internal/ledger/chain';
import { withQuery } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { usePages } from '../../api/use-pages.ts';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { DownloadButton } from '../../ui/download-button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';

const rowPixels = 36;
const keyOf = ({ sessionId }: Head): string => sessionId;
/** The chain for events that belong to no session, such as new rules in force. */
const ledgerSessionId = 'quittance.ledger';

export function HeadTable(): ReactNode {
  const { rows, error, hasMore, loadingMore, loadMore, reload } = usePages<Head>(
    '/v1/heads',
    { limit: 200 },
    keyOf,
  );
  const count = useAnswer<HeadPage>('/v1/heads', { limit: 1 });
  const refresh = (): void => {
    reload();
    count.reload();
  };
  return (
    <section className="card" aria-labelledby="heads">
      <header>
        <h2 id="heads">
          Chain heads{' '}
          {count.data !== undefined && (
            <span className="muted">
              {count.data.sessions.toLocaleString()} {count.data.sessions === 1 ? 'chain' : 'chains'}
            </span>
          )}
        </h2>
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      </header>
      {error !== undefined && (
        <div className="body">
          <Problem error={error} onRetry={refresh} />
        </div>
      )}
      {rows === undefined ? (
        error === undefined && (
          <div className="body">
            <Skeleton rows={5} />
          </div>
        )
      ) : rows.length === 0 ? (
        <div className="body">
          <Empty title="No entries yet">
            Every session has its own chain. It starts with the first call.
          </Empty>
        </div>
      ) : (
        <Rows {...{ rows, hasMore, loadingMore, loadMore }} />
      )}
    </section>
  );
}

type RowsProps = {
  readonly rows: readonly Head[];
  readonly hasMore: boolean;
  readonly loadingMore: boolean;
  readonly loadMore: () => void;
};

function Rows({ rows, hasMore, loadingMore, loadMore }: RowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const mayExport = useMay('admin');
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    overscan: 10,
  });
  const items = virtual.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastIndex >= rows.length - 20) loadMore();
  }, [hasMore, lastIndex, rows.length, loadMore]);
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div ref={scroller} className="heads" tabIndex={0} role="group" aria-label="Chain heads">
      <table aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <caption className="hidden">Head of each session's chain</caption>
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col" className="num">
              Entries
            </th>
            <th scope="col">Last hash</th>
            <th scope="col">
              <span className="hidden">Export</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Gap height={above} />}
          {items.map(({ index }) => {
            const head = rows[index];
            return head && <Row key={head.sessionId} head={head} index={index} mayExport={mayExport} />;
          })}
          {below > 0 && <Gap height={below} />}
        </tbody>
      </table>
      {loadingMore && <p className="muted heads-more">Loading more…</p>}
    </div>
  );
}

const Gap = ({ height }: { readonly height: number }): ReactNode => (
  <tr aria-hidden="true" className="gap">
    <td colSpan={4} style={{ height }} />
  </tr>
);

type RowProps = { readonly head: Head; readonly index: number; readonly mayExport: boolean };

function Row({ head: { sessionId, sequence, hash }, index, mayExport }: RowProps): ReactNode {
  return (
    <tr aria-rowindex={index + 2}>
      <td className="clip" title={safeId(sessionId)}>
        {sessionId === ledgerSessionId ? (
          <span>
            Ledger <span className="muted">events without a session, such as new rules</span>
          </span>
        ) : (
          <Link to={addressOf(['sessions', sessionId])}>
            <ForeignId id={sessionId} />
          </Link>
        )}
      </td>
      <td className="num">{sequence.toLocaleString()}</td>
      <td>
        <span className="hash">
          <code className="clip">{hash}</code>
          <CopyButton text={hash} label="Copy hash" />
        </span>
      </td>
      <td className="num">
        {mayExport && (
          <DownloadButton
            path={withQuery('/v1/export', { sessionId })}
            className="link"
            label={`Export ${safeId(sessionId)}`}
          >
            Export
          </DownloadButton>
        )}
      </td>
    </tr>
  );
}
