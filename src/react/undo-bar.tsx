import type { ReactNode } from 'react';
import { ShownText } from './shown-text.tsx';
import { remainingTime } from '../view/remaining-time.ts';
import type { Undoing } from './use-undo.ts';

/** The way back, for as long as there is one. */
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
            ? 'Asked to undo it.'
            : left === undefined
              ? 'This can be undone.'
              : left > 0
                ? `This can be undone for another ${remainingTime(left)}.`
                : 'The time to undo this is up.'}
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
          // The second click of a double click was meant for what stood here before.
          if (detail <= 1) undo();
        }}
      >
        Undo
      </button>
    </div>
  );
}
