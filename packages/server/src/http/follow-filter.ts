/** The filter of a client that follows the ledger. */
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import type { FeedEntry } from './api/feed.ts';

export type FollowFilter = {
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  /** An event type, or a prefix that ends in a dot. */
  readonly type?: string | undefined;
};

export function pick(
  entry: Pick<FeedEntry, 'sessionId' | 'events'>,
  { sessionId, callId, type }: FollowFilter,
): readonly ReadEvent[] {
  if (sessionId !== undefined && entry.sessionId !== sessionId) return [];
  return entry.events.filter(
    (event) =>
      (callId === undefined || isAbout(event, callId)) &&
      (type === undefined || event.type === type || (type.endsWith('.') && event.type.startsWith(type))),
  );
}

/** The call id is in the event for calls that were not accepted. */
const isAbout = (event: ReadEvent, callId: string): boolean =>
  ('callId' in event && event.callId === callId) ||
  (isKnownEvent(event) && event.type === 'call.not_accepted' && event.refusedCallId === callId);
