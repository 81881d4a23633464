/**
 * Tells the frame that a page has heard of a change, so that the counts in the navigation agree with the lists.
 * The frame has no connection of its own: a browser allows few per server.
 */
import { useEffect, useRef } from 'react';

const changed = 'quittance:ledger-change';
/** A flood of changes causes one reading per second. */
const gatherMs = 300;
const restMs = 1_000;

export const noteLedgerChange = (): void => {
  window.dispatchEvent(new Event(changed));
};

export function useLedgerChanges(onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastAt = 0;
    const note = (): void => {
      if (timer !== undefined) return;
      const waitMs = Math.max(gatherMs, lastAt + restMs - performance.now());
      timer = setTimeout(() => {
        timer = undefined;
        lastAt = performance.now();
        latest.current();
      }, waitMs);
    };
    window.addEventListener(changed, note);
    return () => {
      clearTimeout(timer);
      window.removeEventListener(changed, note);
    };
  }, []);
}
