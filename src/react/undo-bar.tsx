import type { ReactNode } from 'react';
import { ShownText } from './shown-text.tsx';
import { remainingTime } from '../view/remaining-time.ts';
import type { Undoing } from './use-undo.ts';

/** Shown while the call can be undone. */
export function UndoBar({
  undoing: { status, error, until, undo },
  now,
}: {
  readonly undoing: Undoing;
  readonly now: number | undefined;
}): ReactNode {
  const left = until === undefined || now === undefined ? undefined : until - now;
  return (
    <div className="qt-undo">
      <p>
        {status === 'sending'
          ? 'Undoing…'
          : status === 'sent'
            ? 'Undo requested.'
            : left === undefined
              ? 'This can be undone.'
              : left > 0
                ? `This can be undone for another ${remainingTime(left)}.`
                : 'The undo period has ended.'}
      </p>
      {error !== undefined && (
        <p className="qt-error" role="alert">
          <ShownText text={error.message} />
        </p>
      )}
      <button
        type="button"
        className="qt-button"
        aria-disabled={status !== 'ready'}
        onClick={({ detail }) => {
          // The second click of a double click was meant for the previous content.
          if (detail <= 1) undo();
        }}
      >
        Undo
      </button>
    </div>
  );
}
