/**
 * The ledger as it grows. The browser reconnects by itself and says which entry it saw last; what the server then sends
 * follows on that one, and a gap, should there ever be one, is noticed. So is a ledger that does not reach to that entry:
 * it is another one, or an older copy, and nothing that was read of the one before is true of it.
 */
import { useContext, useEffect, useRef, useState } from 'react';
import type { FeedEntry } from '../../../src/http/api/feed.ts';
import type { Query } from './client.ts';
import { ApiError, get, withQuery } from './client.ts';
import { ReplacedLedgerContext } from './replaced-ledger.ts';

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
  const beginAnew = useContext(ReplacedLedgerContext);

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
    const left = new AbortController();
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
        if (opened.readyState !== EventSource.CLOSED) return;
        void isReplaced(last.current, left.signal).then((replaced) => {
          if (left.signal.aborted) return;
          if (!replaced) timer = setTimeout(open, againMs);
          else beginAnew();
        });
      });
      opened.addEventListener('entry', (message) => take((message as MessageEvent<string>).data, true));
      opened.addEventListener('position', (message) => take((message as MessageEvent<string>).data, false));
    };
    open();
    return () => {
      left.abort();
      clearTimeout(timer);
      source?.close();
    };
  }, [address, paused, beginAnew]);

  return status;
}

/** Whether the server refuses the position because its ledger does not reach so far. The browser does not say why. */
async function isReplaced(position: number | undefined, signal: AbortSignal): Promise<boolean> {
  if (position === undefined) return false;
  try {
    await get('/v1/events', { after: position, limit: 1 }, signal);
    return false;
  } catch (error) {
    return error instanceof ApiError && error.facts['lastPosition'] !== undefined;
  }
}
