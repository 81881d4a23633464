import type { ReactNode } from 'react';
import { useEffect, useId, useRef } from 'react';

type Props = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/**
 * A native modal dialog: it traps the focus, closes on Escape or a press outside it, and restores the focus. Once a
 * field was filled in, only its buttons close it.
 */
export function Dialog({ title, onClose, children }: Props): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const wasTyped = useRef(false);
  // A press that starts in a field, to select its text, may end outside the dialog.
  const isPressedOutside = useRef(false);
  const leave = (): void => {
    if (!wasTyped.current) onClose();
  };
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    // Focus the first field, not the close button.
    dialog?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onInput={({ target }) => {
        if (!(target instanceof HTMLInputElement && target.type === 'search')) wasTyped.current = true;
      }}
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === element.current;
      }}
      onClick={(event) => {
        if (isPressedOutside.current && event.target === element.current) leave();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" className="ghost" onClick={onClose} aria-label="Close">
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}
