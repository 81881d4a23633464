/** The events of a ledger as they are written, from any position on. */
import { QuittanceError } from '../base/error.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Feed } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { checkKeys, checkObject } from '../base/check-keys.ts';
import { BacklogPace, stayAwake } from './engine.ts';
import type { Engine } from './engine.ts';
import { orUnavailable } from './ledger-trouble.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { whenAppended } from '../ledger/reads.ts';

export type TailOptions = {
  /** The position of the last event that was read; later ones follow. Default: from the start. */
  readonly after?: number;
  /** Only events of one session. */
  readonly sessionId?: string;
  /** Only events of these types. */
  readonly types?: readonly string[];
  /** Ends it. Without one it ends when the reader stops. */
  readonly signal?: AbortSignal;
};

/** An event and its position. Events that were stored together share a position. */
export type TailedEvent = { readonly position: number; readonly event: QuittanceEvent | EmittedEvent };

const batchSize = 256;

/** Ends when the signal is aborted, when the reader stops, and with the runtime. */
export async function* tail(
  engine: Pick<Engine, 'ledger' | 'deadlines'>,
  feed: Feed,
  options: TailOptions,
  closing: AbortSignal,
): AsyncGenerator<TailedEvent, void, undefined> {
  checkKeys('runtime.events.tail', options, ['after', 'sessionId', 'types', 'signal']);
  const { after = 0, sessionId, types } = options;
  if (!(Number.isSafeInteger(after) && after >= 0))
    throw new QuittanceError(
      'config.invalid',
      `runtime.events.tail: after must be a position, a whole number of at least 0, found ${String(after)}.`,
    );
  const wanted = types && new Set(types);
  const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
  const pace = new BacklogPace();
  let position = after;
  while (!signal.aborted) {
    const entries = await orUnavailable(feed.read(position, batchSize));
    for (const entry of entries) {
      const rest = pace.next();
      if (rest !== undefined) await rest;
      position = entry.position;
      if (sessionId !== undefined && entry.sessionId !== sessionId) continue;
      if (wanted !== undefined && !entry.types.some((type) => wanted.has(type))) continue;
      for (const event of entry.events) {
        if (!isKnownEvent(event) && !isEmittedEvent(event)) continue;
        if (wanted !== undefined && !wanted.has(event.type)) continue;
        // Checked for each event: the reader may have stopped meanwhile.
        if (signal.aborted) return;
        yield { position, event };
      }
    }
    if (entries.length === 0)
      await orUnavailable(
        stayAwake(engine, unlessAborted(whenAppended(engine.ledger, position, signal), signal)),
      );
  }
}

/** The calls to read: all of a session, or one of them. */
export type CallFilter = { readonly sessionId: string; readonly callId?: string };

export async function readEvents(
  ledger: Pick<Ledger, 'readCall' | 'readSession'>,
  filter: CallFilter,
): Promise<readonly QuittanceEvent[]> {
  checkObject('A filter of calls', filter);
  const { sessionId, callId } = filter;
  if (callId === undefined) return ledger.readSession(sessionId);
  return (await ledger.readCall(sessionId, callId))?.events ?? [];
}
