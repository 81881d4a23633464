import type { ReactNode } from 'react';
import { useEffect } from 'react';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { formatTime } from '../../ui/time.tsx';
import type { CallsView } from './calls-view.ts';
import { changeView, viewAddress } from './calls-view.ts';
import type { ListedCalls } from './use-call-list.ts';
import { mostRows } from './use-call-list.ts';

/** Shown after the last row: loading, the end of the list, or an error. `isAlone`: a search without a match so far. */
export function ListEnd({
  calls: { list, status, error, loadMore },
  view,
  isAlone = false,
}: {
  readonly calls: ListedCalls;
  readonly view: CallsView;
  readonly isAlone?: boolean;
}): ReactNode {
  const goesOn = isAlone && status === 'ready' && list.next !== undefined;
  useEffect(() => {
    if (goesOn) loadMore();
  }, [goesOn, list.next, loadMore]);
  if (status === 'failed' && error !== undefined) return <Problem error={error} onRetry={loadMore} />;
  const last = list.rows.at(-1);
  if (list.next !== undefined && list.rows.length >= mostRows && last !== undefined)
    return (
      <p className="list-end">
        {mostRows.toLocaleString()} calls are shown.{' '}
        <Link to={viewAddress(changeView(view, { until: String(last.requestedAt + 1) }))}>
          Continue from {formatTime(last.requestedAt)}
        </Link>
      </p>
    );
  if (list.next !== undefined)
    return (
      <p className="list-end muted" aria-busy="true">
        {list.searchedTo === undefined
          ? 'Loading more…'
          : `Searched back to ${formatTime(list.searchedTo)}, continuing…`}
      </p>
    );
  return <p className="list-end muted">End of list.</p>;
}
