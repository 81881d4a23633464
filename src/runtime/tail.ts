/** The events of a ledger as they come, from any position on. */
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Feed } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { checkKeys } from './check-keys.ts';

export type TailOptions = {
  /** The position of the last event that was seen; what follows is given. From the start where left out. */
  readonly after?: number;
  /** Of one session only. */
  readonly sessionId?: string;
  /** Of these types only. */
  readonly types?: readonly string[];
  /** Ends it. Without one it ends when whoever reads stops. */
  readonly signal?: AbortSignal;
};

/** An event and where it stands. Events that were kept together share a position. */
export type TailedEvent = { readonly position: number; readonly event: QuittanceEvent | EmittedEvent };

const batchSize = 256;

export async function* tail(
  ledger: Pick<Ledger, 'whenAppended'>,
  feed: Feed,
  options: TailOptions,
): AsyncGenerator<TailedEvent, void, undefined> {
  checkKeys('runtime.tail', options, ['after', 'sessionId', 'types', 'signal']);
  const { sessionId, types, signal } = options;
  const wanted = types && new Set(types);
  const stopped = Promise.withResolvers<void>();
  const stop = (): void => stopped.resolve();
  signal?.addEventListener('abort', stop, { once: true });
  let position = options.after ?? 0;
  try {
    while (signal?.aborted !== true) {
      const entries = await feed.read(position, batchSize);
      for (const entry of entries) {
        position = entry.position;
        if (sessionId !== undefined && entry.sessionId !== sessionId) continue;
        for (const event of entry.events) {
          if (!isKnownEvent(event) && !isEmittedEvent(event)) continue;
          if (wanted !== undefined && !wanted.has(event.type)) continue;
          // Asked again for each: whoever reads may have stopped meanwhile.
          if (signal?.aborted) return;
          yield { position, event };
        }
      }
      if (entries.length === 0) await Promise.race([ledger.whenAppended(position), stopped.promise]);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
