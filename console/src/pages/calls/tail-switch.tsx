import type { ReactNode } from 'react';
import type { FeedStatus } from '../../api/use-feed.ts';
import { Icon } from '../../ui/icon.tsx';

type Props = {
  readonly status: FeedStatus;
  readonly isPaused: boolean;
  readonly arrived: number;
  readonly onToggle: () => void;
};

/** Whether calls appear as they arrive, and whether they can. */
export function TailSwitch({ status, isPaused, arrived, onToggle }: Props): ReactNode {
  const { word, tone } = describe(status, isPaused, arrived);
  return (
    <>
      <span className="badge tail" data-tone={tone} role="status">
        <span className="dot" aria-hidden="true" />
        {word}
      </span>
      <button type="button" onClick={onToggle} title={`${isPaused ? 'Follow' : 'Pause'} (p)`}>
        <Icon name={isPaused ? 'play' : 'pause'} />
        {isPaused ? 'Follow' : 'Pause'}
      </button>
    </>
  );
}

function describe(
  status: FeedStatus,
  isPaused: boolean,
  arrived: number,
): { readonly word: string; readonly tone: 'good' | 'attention' | 'quiet' } {
  if (isPaused)
    return {
      word: arrived === 0 ? 'Paused' : `Paused, ${arrived >= 100 ? '100 or more' : arrived} new`,
      tone: 'quiet',
    };
  switch (status) {
    case 'live':
    // The list is read again whenever something is missing, so a gap is over by the time it is seen.
    case 'gap':
      return { word: 'Live', tone: 'good' };
    case 'connecting':
    case 'paused':
      return { word: 'Connecting', tone: 'quiet' };
    case 'reconnecting':
      return { word: 'Reconnecting', tone: 'attention' };
  }
}
