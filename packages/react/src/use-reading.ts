import type { RefObject } from 'react';
import { useEffect, useRef, useState } from 'react';

/** How much of the question's subject has been in view. */
export type ReadingProgress = {
  /** The first and the last line of every block have been in view. */
  readonly isRead: boolean;
  readonly lines: number;
  /** Approximate number of lines that have been in view. */
  readonly seen: number;
};

type Seen = { start: boolean; end: boolean; pixels: number };

/** A line cut by no more than this counts as seen. */
const tolerance = 10;

/**
 * Tracks how far a person has scrolled through the blocks of a question. A block is an element with `data-qt-lines`,
 * its number of lines. Collapsed blocks do not count. The answer bar may cover the end of the content above it. Another
 * `subject` starts over.
 */
export function useReading(
  panel: RefObject<HTMLElement | null>,
  answers: RefObject<HTMLElement | null>,
  subject: string,
): ReadingProgress {
  const [reading, setReading] = useState<ReadingProgress>({ isRead: false, lines: 0, seen: 0 });
  const seenOf = useRef({ subject, blocks: new Map<Element, Seen>() });

  useEffect(() => {
    if (seenOf.current.subject !== subject) seenOf.current = { subject, blocks: new Map() };
    const { blocks } = seenOf.current;
    let frame: number | undefined;
    const measure = (): void => {
      frame = undefined;
      const found = panel.current?.querySelectorAll<HTMLElement>('[data-qt-lines]') ?? [];
      const shown = Array.from(found).filter((block) => block.closest('details') === null);
      let [isRead, lines, seen] = [true, 0, 0];
      for (const block of shown) {
        const known = blocks.get(block) ?? { start: false, end: false, pixels: 0 };
        blocks.set(block, known);
        if (document.visibilityState === 'visible') look(block, known, answers.current);
        const own = Number(block.dataset['qtLines']);
        const isDone = known.start && known.end;
        isRead &&= isDone;
        lines += own;
        seen += isDone
          ? own
          : Math.min(own, Math.floor((own * known.pixels) / Math.max(1, block.scrollHeight)));
      }
      setReading((before) =>
        before.isRead === isRead && before.lines === lines && before.seen === seen
          ? before
          : { isRead, lines, seen },
      );
    };
    const later = (): void => {
      frame ??= requestAnimationFrame(measure);
    };
    measure();
    const sizes = new ResizeObserver(later);
    if (panel.current !== null) {
      sizes.observe(panel.current);
      for (const block of panel.current.querySelectorAll('[data-qt-lines]')) sizes.observe(block);
    }
    // Either the block, the page or an element between them scrolls.
    window.addEventListener('scroll', later, { capture: true, passive: true });
    window.addEventListener('resize', later);
    document.addEventListener('visibilitychange', later);
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      sizes.disconnect();
      window.removeEventListener('scroll', later, { capture: true });
      window.removeEventListener('resize', later);
      document.removeEventListener('visibilitychange', later);
    };
  }, [panel, answers, subject]);

  return reading;
}

function look(block: HTMLElement, known: Seen, answers: HTMLElement | null): void {
  // Without a layout, as in component tests, everything counts as in view.
  if (block.scrollHeight === 0) {
    known.start = known.end = true;
    return;
  }
  const { top, bottom } = block.getBoundingClientRect();
  let [from, to] = [Math.max(top, 0), Math.min(bottom, window.innerHeight)];
  for (let around = block.parentElement; around !== null; around = around.parentElement) {
    if (getComputedStyle(around).overflowY === 'visible' || around === document.documentElement) continue;
    const edges = around.getBoundingClientRect();
    // A body without its own scrolling scrolls with the window.
    if (around === document.body && around.scrollHeight <= around.clientHeight) continue;
    [from, to] = [Math.max(from, edges.top), Math.min(to, edges.bottom)];
  }
  const covered = answers?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY;
  if (covered > top) to = Math.min(to, covered);
  if (to <= from) return;
  const [first, last] = [from - top + block.scrollTop, to - top + block.scrollTop];
  known.start ||= first <= tolerance;
  known.end ||= last >= block.scrollHeight - tolerance && block.dataset['qtUnfinished'] !== 'true';
  known.pixels = Math.max(known.pixels, last);
}
