/**
 * The table of calls. Only visible rows are in the DOM. A row is one link: `j` and `k` move between rows, and Enter
 * opens the focused one.
 */
import type { Virtualizer } from '@tanstack/react-virtual';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ReactNode, RefObject } from 'react';
import { useCallback, useEffect, useRef } from 'react';
import { safeId, safeWords } from 'quittance/internal/base/safe-id';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { addressOf } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Cost } from '../../ui/cost.tsx';
import { Age, formatDuration } from '../../ui/time.tsx';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import { rowKey } from './call-list.ts';
import { describeDecision } from './describe-decision.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { summarizeArguments } from 'quittance/internal/view/summarize-arguments';
import type { RowChange } from './use-row-changes.ts';
import { useRowChanges } from './use-row-changes.ts';

const columns: readonly { readonly name: string; readonly isNumber?: true; readonly hint?: string }[] = [
  { name: 'Outcome' },
  { name: 'Tool' },
  { name: 'Arguments', hint: 'The first arguments, as stored' },
  { name: 'Session' },
  { name: 'Principal' },
  { name: 'Attempts', isNumber: true },
  { name: 'Duration', isNumber: true, hint: 'Execution time' },
  { name: 'Cost', isNumber: true },
  { name: 'Decision' },
  { name: 'Age', isNumber: true, hint: 'Time since the request' },
];

/** On a phone, rows are cards of three lines. */
const rowPixels = window.matchMedia('(max-width: 40rem)').matches ? 84 : 36;
/** The next page is requested this many rows before the end. */
const ahead = 30;

type Props = {
  readonly rows: readonly CallSummary[];
  readonly hasMore: boolean;
  readonly onNearEnd: () => void;
  readonly onTop: (isAtTop: boolean) => void;
  /** Shown after the last row. */
  readonly foot: ReactNode;
  /** A change scrolls the table to the top. */
  readonly topKey: string;
};

export function CallTable({ rows, hasMore, onNearEnd, onTop, foot, topKey }: Props): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const getKey = useCallback((index: number) => keyAt(rows, index), [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    getItemKey: getKey,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastIndex >= rows.length - ahead) onNearEnd();
  }, [hasMore, lastIndex, rows.length, onNearEnd]);
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
  }, [topKey]);

  const changes = useRowChanges(rows, topKey);
  const { focused, step } = useRowFocus(rows.length, virtual, scroller);

  return (
    <div
      ref={scroller}
      className="call-table"
      role="table"
      aria-label="Calls"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      onScroll={(event) => onTop(event.currentTarget.scrollTop < rowPixels)}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
        if (by === 0 || focused() === -1) return;
        event.preventDefault();
        step(by);
      }}
    >
      <div role="rowgroup" className="call-head">
        <div role="row" className="call-row" aria-rowindex={1}>
          {columns.map(({ name, isNumber, hint }) => (
            <span key={name} role="columnheader" className={isNumber && 'num'} title={hint}>
              {name}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="call-rows" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => {
          const call = rows[index];
          return (
            call && (
              <Row
                key={String(key)}
                call={call}
                index={index}
                start={start}
                change={changes.get(String(key))}
              />
            )
          );
        })}
      </div>
      {foot}
    </div>
  );
}

/** Moves the focus from row to row: `j`, `k` and the arrow keys. */
function useRowFocus(
  count: number,
  virtual: Virtualizer<HTMLDivElement, Element>,
  scroller: RefObject<HTMLDivElement | null>,
): { readonly focused: () => number; readonly step: (by: number) => void } {
  /** The row that is about to receive the focus: keys may come faster than rows render. */
  const wanted = useRef(-1);
  const goToRow = (index: number): void => {
    if (index < 0 || index >= count) return;
    wanted.current = index;
    virtual.scrollToIndex(index);
    // The row may not be rendered before the next frame.
    requestAnimationFrame(() => {
      if (wanted.current !== index) return;
      wanted.current = -1;
      scroller.current
        ?.querySelector<HTMLElement>(`[data-index="${index}"] a`)
        ?.focus({ preventScroll: true });
    });
  };
  const focused = (): number => {
    if (wanted.current !== -1) return wanted.current;
    const row = document.activeElement?.closest('[data-index]');
    return row === null || row === undefined ? -1 : Number(row.getAttribute('data-index'));
  };
  const step = (by: number): void => {
    const at = focused();
    const firstVisible = virtual
      .getVirtualItems()
      .find(({ start }) => start >= (virtual.scrollOffset ?? 0))?.index;
    goToRow(at === -1 ? (firstVisible ?? 0) : at + by);
  };
  useShortcuts({ j: () => step(1), k: () => step(-1) });
  return { focused, step };
}

const keyAt = (rows: readonly CallSummary[], index: number): string => {
  const row = rows[index];
  return row === undefined ? String(index) : rowKey(row);
};

function Row({
  call,
  index,
  start,
  change,
}: {
  readonly call: CallSummary;
  readonly index: number;
  readonly start: number;
  readonly change: RowChange | undefined;
}): ReactNode {
  const { sessionId, callId, toolName, userId, attempts, elapsedMs, costMicros, code, message } = call;
  const summary = summarizeArguments(call.args);
  // The rule says more than its code, and the title of the cell has its message.
  const detail = call.ruleId ?? code;
  return (
    <div
      role="row"
      className="call-row"
      data-changed={change}
      data-index={index}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${start}px)` }}
    >
      <span role="cell">
        <OutcomeBadge call={call} />
      </span>
      <span role="cell" className="clip">
        <Link
          className="row-link"
          to={addressOf(['calls', sessionId, callId])}
          title={safeWords(message ?? callId)}
        >
          <ForeignId id={toolName} />
          <span className="hidden">
            , call <ForeignId id={callId} />
          </span>
        </Link>
      </span>
      <span role="cell" className="clip call-args" title={summary === '' ? undefined : safeWords(summary)}>
        {summary === '' ? <None /> : <ForeignText text={summary} />}
      </span>
      <span role="cell" className="clip">
        <Link
          className="over"
          to={addressOf(['sessions', sessionId])}
          title={safeId(sessionId)}
          tabIndex={-1}
        >
          <ForeignId id={sessionId} />
        </Link>
      </span>
      <span role="cell" className="clip" title={userId === undefined ? undefined : safeWords(userId)}>
        {userId === undefined ? <None /> : <ForeignText text={userId} />}
      </span>
      <span role="cell" className="num">
        {attempts === 0 ? <None /> : attempts}
      </span>
      <span role="cell" className="num">
        {elapsedMs === undefined || attempts === 0 ? <None /> : formatDuration(elapsedMs)}
      </span>
      <span role="cell" className="num">
        {costMicros === 0 ? <None /> : <Cost micros={costMicros} />}
      </span>
      <span role="cell" className="clip decision" title={message && safeWords(message)}>
        {describeDecision(call)}
        {detail !== undefined && (
          <span className="muted mono">
            <ForeignText text={detail} />
          </span>
        )}
      </span>
      <span role="cell" className="num muted">
        <Age at={call.requestedAt} />
      </span>
    </div>
  );
}

const None = (): ReactNode => <span className="muted">–</span>;
