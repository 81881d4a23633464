/** Keyboard shortcuts. Ignored while the user types or holds a modifier. */
import { useEffect, useRef } from 'react';

/** Handlers by key: `j`, `?`, or a sequence such as `g c`. */
export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const secondKeyMs = 1_000;

export function useShortcuts(shortcuts: Shortcuts, enabled = true): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    if (!enabled) return;
    let first: { readonly key: string; readonly at: number } | undefined;
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      const pair =
        first !== undefined && event.timeStamp - first.at < secondKeyMs ? `${first.key} ${event.key}` : '';
      const name = Object.hasOwn(current.current, pair) ? pair : event.key;
      first = { key: event.key, at: event.timeStamp };
      if (!Object.hasOwn(current.current, name)) return;
      event.preventDefault();
      first = undefined;
      current.current[name]?.(event);
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [enabled]);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
