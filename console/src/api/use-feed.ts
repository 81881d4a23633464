/**
 * The ledger as it grows. The browser reconnects by itself and says which entry it saw last; what the server then sends
 * follows on that one, and a gap, should there ever be one, is noticed.
 */
import { useEffect, useRef, useState } from 'react';
import type { FeedEntry } from '../../../src/http/api/feed.ts';
import type { Query } from './client.ts';
import { withQuery } from './client.ts';

export type FeedStatus = 'connecting' | 'live' | 'reconnecting' | 'paused' | 'gap';

const againMs = 3_000;

export function useFeed(
  query: Query,
  onEntry: (entry: FeedEntry) => void,
  { paused = false }: { readonly paused?: boolean } = {},
): FeedStatus {
  const [status, setStatus] = useState<FeedStatus>('connecting');
  const heard = useRef(onEntry);
  heard.current = onEntry;
  const asked = useRef(query);
  asked.current = query;
  const last = useRef<number | undefined>(undefined);
  const address = withQuery('/v1/events', query);

  useEffect(() => {
    last.current = undefined;
  }, [address]);

  useEffect(() => {
    if (paused) {
      setStatus('paused');
      return;
    }
    setStatus('connecting');
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = (text: string, tell: boolean): void => {
      const entry = JSON.parse(text) as FeedEntry;
      if (last.current !== undefined && entry.previous > last.current) setStatus('gap');
      last.current = entry.position;
      if (tell) heard.current(entry);
    };
    const open = (): void => {
      const from =
        last.current === undefined
          ? address
          : withQuery('/v1/events', { ...asked.current, after: last.current });
      const opened = new EventSource(from, { withCredentials: true });
      source = opened;
      opened.addEventListener('open', () => setStatus('live'));
      opened.addEventListener('error', () => {
        setStatus('reconnecting');
        // The browser gives up where a server that is busy, or a proxy before it, answers with an error. We do not.
        if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, againMs);
      });
      opened.addEventListener('entry', (message) => take((message as MessageEvent<string>).data, true));
      opened.addEventListener('position', (message) => take((message as MessageEvent<string>).data, false));
    };
    open();
    return () => {
      clearTimeout(timer);
      source?.close();
    };
  }, [address, paused]);

  return status;
}
