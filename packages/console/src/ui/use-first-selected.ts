import { useEffect, useRef } from 'react';

/**
 * Selects the first item of a side list on a wide screen. It does so only once, so that the selection does not change
 * under the pointer.
 */
export function useFirstSelected(
  isLoaded: boolean,
  selected: string | undefined,
  first: string | undefined,
  select: (key: string) => void,
): void {
  const isDone = useRef(false);
  useEffect(() => {
    if (!isLoaded || isDone.current) return;
    isDone.current = true;
    const isWide = window.matchMedia('(min-width: 60.01rem)').matches;
    if (selected === undefined && first !== undefined && isWide) select(first);
  }, [isLoaded, selected, first, select]);
}
