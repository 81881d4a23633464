import { useEffect } from 'react';
import { countText } from './count.tsx';

/** Shows a number before the title of the tab, whatever title a page sets. Nothing if it is zero. */
export function useTitleCount(value: number): void {
  useEffect(() => {
    const title = document.querySelector('title');
    if (title === null) return;
    const show = (): void => {
      const plain = document.title.replace(/^\(\d+\+?\) /, '');
      const wanted = value === 0 ? plain : `(${countText(value)}) ${plain}`;
      if (document.title !== wanted) document.title = wanted;
    };
    show();
    const observer = new MutationObserver(show);
    observer.observe(title, { childList: true, characterData: true, subtree: true });
    return () => observer.disconnect();
  }, [value]);
}
