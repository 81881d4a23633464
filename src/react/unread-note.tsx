import type { ReactNode } from 'react';
import type { ReadingProgress } from './use-reading.ts';

/** Says how much has not been in view, and takes the choice to go on regardless. */
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
          ? `About ${seen.toLocaleString('en')} of ${lines.toLocaleString('en')} lines have been in view.`
          : 'Not all of it has been in view.'}{' '}
        Scroll from the start to the end to approve.
      </p>
      <label>
        <input
          type="checkbox"
          checked={isWaived}
          onChange={({ currentTarget }) => onWaive(currentTarget.checked)}
        />{' '}
        I have not read to the end and decide anyway
      </label>
    </div>
  );
}
