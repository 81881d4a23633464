import type { ReactNode } from 'react';
import type { ReadingProgress } from './use-reading.ts';

/** Says how much has been in view, and offers to decide without the rest. */
export function UnreadNote({
  id,
  reading: { lines, seen },
  isWaived,
  onWaive,
}: {
  readonly id: string;
  readonly reading: ReadingProgress;
  readonly isWaived: boolean;
  readonly onWaive: (isWaived: boolean) => void;
}): ReactNode {
  return (
    <div className="qt-unread">
      <p id={id}>
        {lines > 0
          ? `About ${seen.toLocaleString('en')} of ${lines.toLocaleString('en')} lines viewed.`
          : 'Not all of it has been viewed.'}{' '}
        To approve, scroll from start to end.
      </p>
      <label>
        <input
          type="checkbox"
          checked={isWaived}
          onChange={({ currentTarget }) => onWaive(currentTarget.checked)}
        />{' '}
        Continue without reading to the end
      </label>
    </div>
  );
}
