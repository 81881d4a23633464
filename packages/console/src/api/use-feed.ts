/**
 * Follows the ledger as it grows. A broken connection is reopened after the last entry seen, and gaps are detected. A
 * ledger that ends before that entry is another one or an older copy, so everything read before is invalid.
 */
import { useContext, useEffect, useRef, useState } from 'react';
import type { FeedEntry, LargeEntry } from '@quittance/server/internal/http/api/feed';
import type { Query } from './client.ts';
import { ApiError, get, withQuery } from './client.ts';
import { openEventStream } from './event-stream.ts';
import { noteLedgerChange } from './ledger-change.ts';
import { ReplacedLedgerContext } from './replaced-ledger.ts';

/** A ledger entry, or a notice of an entry too large to send. The notice names only its session. */
export type FeedMessage = FeedEntry | LargeEntry;

export const isLarge = (message: FeedMessage): message is LargeEntry => !('events' in message);

export type FeedStatus = 'connecting' | 'live' | 'reconnecting' | 'paused' | 'gap';

/** Wait after a broken connection, and after a refusal by a busy server or a proxy. */
const againMs = { broken: 1_000, refused: 3_000 };

export function useFeed(
  query: Query,
  onEntry: (message: FeedMessage) => void,
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
    let close = (): void => undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const left = new AbortController();
    const take = (text: string, isEntry: boolean): void => {
      const entry = JSON.parse(text) as FeedMessage;
      if (last.current !== undefined && (entry.previous ?? 0) > last.current) setStatus('gap');
      last.current = entry.position;
      if (!isEntry) return;
      heard.current(entry);
      noteLedgerChange();
    };
    const open = (): void => {
      const from =
        last.current === undefined
          ? address
          : withQuery('/v1/events', { ...asked.current, after: last.current });
      close = openEventStream(from, {
        onOpen: () => setStatus('live'),
        onMessage: (type, data) => {
          if (type === 'entry' || type === 'large' || type === 'position') take(data, type !== 'position');
        },
        onEnd: (refused) => {
          setStatus('reconnecting');
          if (!refused) timer = setTimeout(open, againMs.broken);
          else
            void isReplaced(last.current, left.signal).then((replaced) => {
              if (left.signal.aborted) return;
              if (!replaced) timer = setTimeout(open, againMs.refused);
              else beginAnew();
            });
        },
      });
    };
    open();
    return () => {
      left.abort();
      clearTimeout(timer);
      close();
    };
  }, [address, paused, beginAnew]);

  return status;
}

/** Did the server refuse the position because its ledger ends before it? The browser does not say why. */
async function isReplaced(position: number | undefined, signal: AbortSignal): Promise<boolean> {
  if (position === undefined) return false;
  try {
    await get('/v1/events', { after: position, limit: 1 }, signal);
    return false;
  } catch (error) {
    return error instanceof ApiError && error.facts['lastPosition'] !== undefined;
  }
}
