import type { RefObject } from 'react';
import { useEffect, useRef } from 'react';

/**
 * Keeps the focus in the card when what had it goes away: whoever answered by keyboard would otherwise begin again at
 * the top of the page. Gives the ref of the element that gets it then.
 */
export function useRefocus(isAsking: boolean): RefObject<HTMLParagraphElement | null> {
  const heading = useRef<HTMLParagraphElement | null>(null);
  const hadFocus = useRef(false);
  useEffect(() => {
    const card = heading.current?.closest('.qt-card');
    if (!isAsking || card === null || card === undefined) return undefined;
    const note = (): void => {
      hadFocus.current = card.contains(document.activeElement);
    };
    document.addEventListener('focusin', note);
    return () => {
      document.removeEventListener('focusin', note);
      // An element that is removed takes the focus with it and says nothing.
      if (hadFocus.current && (document.activeElement === document.body || document.activeElement === null))
        heading.current?.focus();
      hadFocus.current = false;
    };
  }, [isAsking]);
  return heading;
}
