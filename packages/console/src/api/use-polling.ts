import { useEffect, useRef } from 'react';

/** Calls `reload` at the interval and when the page becomes visible, unless it is hidden or still loading. */
export function usePolling(everyMs: number | undefined, isLoading: () => boolean, reload: () => void): void {
  const latest = useRef(isLoading);
  latest.current = isLoading;
  useEffect(() => {
    if (everyMs === undefined) return;
    const poll = (): void => {
      if (document.visibilityState === 'visible' && !latest.current()) reload();
    };
    const timer = setInterval(poll, everyMs);
    document.addEventListener('visibilitychange', poll);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', poll);
    };
  }, [everyMs, reload]);
}
