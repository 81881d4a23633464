/** The list next to the selected item. Only visible rows are in the DOM. */
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ReactNode, RefObject } from 'react';
import { useEffect, useRef } from 'react';
import { Link } from './link.tsx';
import type { Tone } from './outcome-badge.tsx';
import '../styles/side-list.css';

const rowHeight = 84;

type Props<Item> = {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly to: (item: Item) => string;
  readonly toneOf: (item: Item) => Tone;
  readonly selected: string | undefined;
  /** Increases when the user moves the selection by keyboard; the row then receives the focus. */
  readonly moves: number;
  /** Called when the last row becomes visible. */
  readonly onEnd: () => void;
  readonly children: (item: Item) => ReactNode;
};

export function SideList<Item>(props: Props<Item>): ReactNode {
  const { label, items, keyOf, to, toneOf, selected, moves, onEnd, children } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 6,
  });
  const shown = rows.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= items.length - 1) onEnd();
  }, [lastShown, items.length, onEnd]);
  const at = selected === undefined ? -1 : items.findIndex((item) => keyOf(item) === selected);
  const handled = useRef(moves);
  useEffect(() => {
    if (handled.current === moves || at === -1) return;
    handled.current = moves;
    rows.scrollToIndex(at);
    // The row may not be rendered before the next frame.
    const frame = requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>('[aria-current]')?.focus({ preventScroll: true }),
    );
    return () => cancelAnimationFrame(frame);
  }, [moves, at, rows]);
  useKeptFocus(scroller, items);
  return (
    <div className="side-list" ref={scroller}>
      <ul style={{ height: rows.getTotalSize() }} aria-label={label}>
        {shown.map(({ index, key, start }) => {
          const item = items[index];
          return (
            item !== undefined && (
              <li key={key} style={{ height: rowHeight, transform: `translateY(${start}px)` }}>
                <Link
                  to={to(item)}
                  className="side-row"
                  aria-current={index === at ? 'true' : undefined}
                  data-tone={toneOf(item)}
                >
                  {children(item)}
                </Link>
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

/**
 * Moves the focus to the detail heading when the focused row leaves the list. A removed row loses it without an event.
 */
function useKeptFocus(scroller: RefObject<HTMLElement | null>, items: readonly unknown[]): void {
  const hadFocus = useRef(false);
  useEffect(() => {
    const note = ({ target }: FocusEvent): void => {
      hadFocus.current = target instanceof Node && scroller.current?.contains(target) === true;
    };
    document.addEventListener('focusin', note);
    return () => document.removeEventListener('focusin', note);
  }, [scroller]);
  useEffect(() => {
    if (!hadFocus.current || document.activeElement !== document.body) return;
    const heading = scroller.current
      ?.closest('.split')
      ?.querySelector<HTMLElement>('.split-detail h2[tabindex]');
    heading?.focus({ preventScroll: true });
  }, [scroller, items]);
}
