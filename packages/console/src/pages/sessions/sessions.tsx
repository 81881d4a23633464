/** All sessions, newest first. Only visible rows are in the DOM. */
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import type { SessionSummary } from 'quittance/internal/ledger/call-query';
import { limits } from 'quittance/internal/call/limits';
import { usePages } from '../../api/use-pages.ts';
import { addressOf, goTo } from '../../route.ts';
import { IdInput } from '../../ui/id-input.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { formatTime } from '../../ui/time.tsx';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import { SessionRow } from './session-row.tsx';
import '../../styles/sessions.css';

const pageSize = 100;
/** On a phone, rows are cards of two lines. */
const rowHeight = window.matchMedia('(max-width: 40rem)').matches ? 64 : 40;
const typingMs = 200;
/** In the order of the row's cells. */
const figures = [
  'Calls',
  'Open',
  'Failed',
  'Denied',
  'Unresolved',
  'Duration',
  'Last call',
  'Started',
] as const;

export default function Sessions({ query }: { readonly query: URLSearchParams }): ReactNode {
  const search = query.get('search') ?? '';
  const { rows, error, hasMore, searchedTo, loadMore, loadingMore, reload } = usePages<SessionSummary>(
    '/v1/sessions',
    { search, limit: pageSize },
    ({ sessionId }) => sessionId,
    { everyMs: 5_000 },
  );
  return (
    <>
      <PageHead
        title="Sessions"
        about="Conversations and jobs, newest first. Each session has its own hash chain."
      >
        <SearchField search={search} />
      </PageHead>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {rows === undefined ? (
        error === undefined && <Skeleton rows={10} />
      ) : rows.length === 0 && !hasMore ? (
        <NoSessions search={search} />
      ) : (
        <SessionTable
          rows={rows}
          hasMore={hasMore}
          more={
            searchedTo !== undefined
              ? `Searched back to ${formatTime(searchedTo)}, continuing…`
              : loadingMore
                ? 'Loading more…'
                : undefined
          }
          onEnd={loadMore}
        />
      )}
    </>
  );
}

function SessionTable({
  rows,
  hasMore,
  more,
  onEnd,
}: {
  readonly rows: readonly SessionSummary[];
  readonly hasMore: boolean;
  /** Shown after the last row while rows are missing. */
  readonly more: string | undefined;
  readonly onEnd: () => void;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.sessionId ?? index,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - 1) onEnd();
  }, [hasMore, last, rows.length, onEnd]);
  const [at, setAt] = useState<number>();
  const move = (step: 1 | -1): void => {
    const next = Math.min(Math.max((at ?? -1) + step, 0), rows.length - 1);
    setAt(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() =>
      scroller.current
        ?.querySelector<HTMLElement>(`[data-index="${next}"] a`)
        ?.focus({ preventScroll: true }),
    );
  };
  useShortcuts({ j: () => move(1), k: () => move(-1) });
  const [before, after] = [shown[0]?.start ?? 0, virtual.getTotalSize() - (shown.at(-1)?.end ?? 0)];
  return (
    <div className="card session-table" ref={scroller}>
      <table aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Session</th>
            {figures.map((figure) => (
              <th key={figure} scope="col" className="num">
                {figure}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Filler height={before} />}
          {shown.map(({ index, key }) => {
            const row = rows[index];
            return row !== undefined && <SessionRow key={key} session={row} index={index} />;
          })}
          {after > 0 && <Filler height={after} />}
        </tbody>
      </table>
      {more !== undefined && (
        <p className="muted session-more" aria-busy="true">
          {more}
        </p>
      )}
    </div>
  );
}

/** Reserves the space of rows that are not in the DOM. */
const Filler = ({ height }: { readonly height: number }): ReactNode => (
  <tr className="filler" aria-hidden="true">
    <td colSpan={figures.length + 1} style={{ height }} />
  </tr>
);

/** The search runs after a pause in typing and is stored in the address. */
function SearchField({ search }: { readonly search: string }): ReactNode {
  const [text, setText] = useState(search);
  useEffect(() => setText(search), [search]);
  useEffect(() => {
    if (text === search) return;
    const timer = setTimeout(
      () => goTo(addressOf(['sessions'], { search: text }), { replace: true }),
      typingMs,
    );
    return () => clearTimeout(timer);
  }, [text, search]);
  return (
    <label>
      <span className="hidden">Search sessions</span>
      <IdInput
        type="search"
        data-search
        className="session-search"
        placeholder="Search session ids  ( / )"
        maxLength={limits.searchChars}
        value={text}
        onValue={setText}
      />
    </label>
  );
}

const snippet = `import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';

const runtime = createRuntime({ tools, ledger: await openLedger('./.quittance/ledger.db') });
const turn = runtime.turn({ sessionId: 'ticket-42' });
await turn.call({ id: 'call_1', name: 'look_up_order', arguments: { order: 'A-1001' } });`;

function NoSessions({ search }: { readonly search: string }): ReactNode {
  if (search !== '')
    return (
      <Empty title="No matching sessions">
        The search matches any part of a session id. To search calls, use the calls page.
      </Empty>
    );
  return (
    <Empty title="No sessions yet" snippet={snippet}>
      A session is a conversation or a job: the turns of one agent, in order, in one chain. The first call
      creates it:
    </Empty>
  );
}
