/**
 * Updates the list as the ledger grows. Entries are collected for a moment, so that a flood causes only a few requests.
 */
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import type { FeedEntry } from '@quittance/server/internal/http/api/feed';
import type { FeedMessage, FeedStatus } from '../../api/use-feed.ts';
import { isLarge, useFeed } from '../../api/use-feed.ts';
import type { CallName } from './use-call-list.ts';

const gatherMs = 300;
/** Shortest time between two reads. */
const restMs = 700;
const afterFailureMs = 5_000;

/** `look` receives the changed calls. It runs once at a time, and again after a lost connection. */
export function useTail(look: (changed: readonly CallName[]) => Promise<void>): FeedStatus {
  const latest = useRef(look);
  latest.current = look;
  const changed = useRef(new Map<string, CallName>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isLooking = useRef(false);
  const isOver = useRef(false);

  const plan = useCallback((afterMs: number): void => {
    if (timer.current !== undefined || isLooking.current || isOver.current) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      const names = [...changed.current.values()];
      changed.current = new Map();
      isLooking.current = true;
      let rest = restMs;
      void latest
        .current(names)
        // Calls that could not be read now are read with the next ones. The connection state is shown elsewhere.
        .catch(() => {
          names.forEach((name) => changed.current.set(keyOf(name), name));
          rest = afterFailureMs;
        })
        .finally(() => {
          isLooking.current = false;
          if (changed.current.size > 0) plan(rest);
        });
    }, afterMs);
  }, []);

  // A browser allows few connections per server, so hidden pages keep none.
  const isHidden = useSyncExternalStore(subscribe, () => document.visibilityState !== 'visible');
  const onEntry = (message: FeedMessage): void => {
    const { sessionId } = message;
    for (const { callId } of isLarge(message) ? [] : message.events.filter(hasCall))
      changed.current.set(keyOf({ sessionId, callId }), { sessionId, callId });
    // An entry too large to send names no call: the first page is read again.
    if (changed.current.size > 0 || isLarge(message)) plan(gatherMs);
  };
  const status = useFeed({ after: 'now' }, onEntry, { paused: isHidden });

  useEffect(() => {
    // Entries may be missing between the first read and the start of the feed, or during a lost connection.
    if (status === 'live' || status === 'gap') plan(gatherMs);
  }, [status, plan]);

  useEffect(() => {
    isOver.current = false;
    return () => {
      isOver.current = true;
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, []);

  return status;
}

function subscribe(onChange: () => void): () => void {
  document.addEventListener('visibilitychange', onChange);
  return () => document.removeEventListener('visibilitychange', onChange);
}

const keyOf = ({ sessionId, callId }: CallName): string => JSON.stringify([sessionId, callId]);

type Event = FeedEntry['events'][number];
const hasCall = (event: Event): event is Event & { readonly callId: string } =>
  'callId' in event && typeof event.callId === 'string';
