/**
 * Approves with a press. On a touch screen it takes two: the first one arms the button, a second one after a moment
 * approves. A stray tap, a double tap or a phone in a pocket approves nothing.
 */
import type { ReactNode, RefCallback, RefObject } from 'react';
import { useEffect, useRef, useState } from 'react';

type Props = {
  readonly buttonRef: RefObject<HTMLButtonElement | null> | RefCallback<HTMLButtonElement>;
  readonly isReady: boolean;
  /** Element that says why the call cannot be approved yet. */
  readonly describedBy: string | undefined;
  readonly title: string;
  /** A few words on the button: what must be done before it can be pressed. */
  readonly first: string | undefined;
  readonly onApprove: () => void;
};

/** A second tap within this time belongs to the first one. */
const doubleTapMs = 600;
const armedMs = 6_000;

export function ApproveButton({
  buttonRef,
  isReady,
  describedBy,
  title,
  first,
  onApprove,
}: Props): ReactNode {
  const pointer = useRef('');
  const [armedAt, setArmedAt] = useState<number | undefined>(undefined);
  useEffect(() => {
    if (armedAt === undefined) return;
    const timer = setTimeout(() => setArmedAt(undefined), armedMs);
    return () => clearTimeout(timer);
  }, [armedAt]);
  useEffect(() => {
    if (!isReady) setArmedAt(undefined);
  }, [isReady]);
  const press = (clicks: number, at: number): void => {
    if (!isReady) return;
    if (pointer.current !== 'touch') {
      // The second click of a double click was meant for the previous content.
      if (clicks <= 1) onApprove();
    } else if (armedAt === undefined) setArmedAt(at);
    else if (at - armedAt >= doubleTapMs) {
      setArmedAt(undefined);
      onApprove();
    }
  };
  return (
    <button
      type="button"
      className="primary approve"
      ref={buttonRef}
      data-armed={armedAt !== undefined}
      aria-disabled={!isReady}
      aria-describedby={describedBy}
      title={title}
      onPointerDown={(event) => {
        pointer.current = event.pointerType;
      }}
      onKeyDown={() => {
        pointer.current = '';
      }}
      onClick={({ detail, timeStamp }) => press(detail, timeStamp)}
    >
      {armedAt === undefined ? 'Approve' : 'Tap again to approve'}
      {/* The description has the same for screen readers. */}
      {first !== undefined && <small aria-hidden="true">{first}</small>}
    </button>
  );
}
