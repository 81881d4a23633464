import { useEffect, useState } from 'react';

/**
 * The time, updated every second while watched. Undefined on a server and in the first render on a page, because both
 * must render the same.
 */
export function useNow(isWatched: boolean, clock: () => number = Date.now): number | undefined {
  const [now, setNow] = useState<number | undefined>(undefined);
  useEffect(() => {
    if (!isWatched) return undefined;
    setNow(clock());
    const ticking = setInterval(() => setNow(clock()), 1_000);
    return () => clearInterval(ticking);
  }, [isWatched, clock]);
  return isWatched ? now : undefined;
}
