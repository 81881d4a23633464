import type { RefObject } from 'react';
import { useCallback, useEffect, useRef, useState } from 'react';

/** Text and position must stay unchanged for this long before a person can answer. */
export const stillAfterMs = 400;
const lookEveryMs = 100;

export type Still = {
  readonly isStill: boolean;
  /** Called on click: checks once more whether anything moved. */
  readonly check: () => boolean;
  /** The same without the position of the button, for forms that move it themselves. */
  readonly checkText: () => boolean;
};

/**
 * Guards a button against a misdirected click: one right after the text changed or the button moved under the pointer.
 * `shown` identifies the text.
 */
export function useStill(shown: string, button: RefObject<HTMLElement | null>): Still {
  const last = useRef({
    shown: '',
    place: '',
    since: Number.POSITIVE_INFINITY,
    textSince: Number.POSITIVE_INFINITY,
  });
  const [isStill, setStill] = useState(false);
  const latest = useRef(shown);
  latest.current = shown;

  const look = useCallback((): boolean => {
    const now = performance.now();
    const { left, top, width, height } = button.current?.getBoundingClientRect() ?? new DOMRect();
    const place = [left, top, width, height].map(Math.round).join(' ');
    if (last.current.shown !== latest.current || last.current.place !== place)
      last.current = {
        shown: latest.current,
        place,
        since: now,
        textSince: last.current.shown === latest.current ? last.current.textSince : now,
      };
    const still = now - last.current.since >= stillAfterMs;
    setStill(still);
    return still;
  }, [button]);

  useEffect(() => {
    look();
    const timer = setInterval(look, lookEveryMs);
    return () => clearInterval(timer);
  }, [look, shown]);

  const checkText = useCallback((): boolean => {
    look();
    return performance.now() - last.current.textSince >= stillAfterMs;
  }, [look]);
  return { isStill, check: look, checkText };
}
