import type { RefObject } from 'react';
import { useEffect, useRef } from 'react';

/**
 * Keeps the focus in the card when the focused element disappears. Otherwise a keyboard user would start again at the
 * top of the page. Returns the ref of the element that receives the focus.
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
      // A removed element loses the focus without an event.
      if (hadFocus.current && (document.activeElement === document.body || document.activeElement === null))
        heading.current?.focus();
      hadFocus.current = false;
    };
  }, [isAsking]);
  return heading;
}
