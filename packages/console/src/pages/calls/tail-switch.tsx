import type { ReactNode } from 'react';
import { useContext } from 'react';
import { OfflineContext } from '../../api/offline.ts';
import type { FeedStatus } from '../../api/use-feed.ts';
import { Icon } from '../../ui/icon.tsx';

type Props = {
  readonly status: FeedStatus;
  readonly isPaused: boolean;
  readonly arrived: number;
  readonly onToggle: () => void;
};

/** State of the live tail, and the button that pauses it. */
export function TailSwitch({ status, isPaused, arrived, onToggle }: Props): ReactNode {
  // The stream may not have noticed yet that the server is gone.
  const isOffline = useContext(OfflineContext);
  const { word, tone } = describe(isOffline ? 'reconnecting' : status, isPaused, arrived);
  return (
    <>
      <span className="badge tail" data-tone={tone} role="status">
        <span className="dot" aria-hidden="true" />
        {word}
      </span>
      <button type="button" onClick={onToggle} title={`${isPaused ? 'Resume' : 'Pause'} (p)`}>
        <Icon name={isPaused ? 'play' : 'pause'} />
        {isPaused ? 'Resume' : 'Pause'}
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
    // The list reloads after a gap, so it is closed by the time it is shown.
    case 'gap':
      return { word: 'Live', tone: 'good' };
    case 'connecting':
    case 'paused':
      return { word: 'Connecting', tone: 'quiet' };
    case 'reconnecting':
      return { word: 'Reconnecting', tone: 'attention' };
  }
}
