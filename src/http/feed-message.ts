/** The messages of a stream that follows the ledger. */
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { FeedEntry, FeedPosition, LargeEntry } from './api/feed.ts';

/** The fields that reveal a lost message come first. */
export const toEntry = (
  { position, sessionId, depth }: Omit<FeedEntry, 'previous'>,
  previous: number,
  events: readonly ReadEvent[],
): FeedEntry => ({ position, previous, sessionId, depth, events });

/** One message: an entry with the position to resume from. JSON text has no line ends that would break SSE. */
export const toFeedMessage = (
  type: 'entry' | 'position' | 'large',
  data: FeedEntry | FeedPosition | LargeEntry,
): string => `id: ${data.position}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
