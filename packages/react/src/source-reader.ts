/**
 * One reader per source, shared by all components, because an async iterable can be read only once.
 *
 * 1. Reading starts with the first component that shows the source and ends with the last. React's strict mode unmounts
 * a component and mounts it again at once; that does not end the reading.
 * 2. The calls read so far stay with the source. If it is read again, repeated events change nothing.
 * 3. Errors of the source are shown, never thrown.
 */
import { describeThrown } from 'quittance/internal/tool/describe-thrown';
import type { ToolCalls } from 'quittance/internal/view/tool-calls';
import { noToolCalls, reduceToolCalls } from 'quittance/internal/view/tool-calls';

/**
 * A source of calls: a stream of events, a list of events, or calls already built from events (`fromMessageParts`,
 * `reduceToolCalls`).
 */
export type ToolCallSource = AsyncIterable<unknown> | Iterable<unknown> | ToolCalls;

/** State read from a source so far. */
export type SourceState = {
  readonly calls: ToolCalls;
  /** Error thrown by the source. */
  readonly error: Error | undefined;
  /** The source has ended. */
  readonly hasEnded: boolean;
};

export interface SourceReader {
  /** The same object until something changes. */
  readonly state: () => SourceState;
  /** Calls the listener after every change. The returned function unsubscribes it. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Reads a failed or ended source again. */
  readonly retry: () => void;
}

/** Returns the reader of a source: one source always has the same reader. */
export function readerOf(source: ToolCallSource | undefined): SourceReader {
  if (source === undefined) return standingReader(noToolCalls);
  if (!(Symbol.asyncIterator in source)) return standingReader(source);
  const known = readers.get(source);
  if (known !== undefined) return known;
  const reader = createReader(source);
  readers.set(source, reader);
  return reader;
}

/** Keyed by source: an entry lives as long as its source, and entries share nothing. */
const readers = new WeakMap<AsyncIterable<unknown>, SourceReader>();

/** For complete sources: they can be shown at once, also on a server. */
function standingReader(source: Iterable<unknown> | ToolCalls): SourceReader {
  const calls = source instanceof Map ? (source as ToolCalls) : reduceToolCalls(noToolCalls, source);
  const state: SourceState = { calls, error: undefined, hasEnded: true };
  return { state: () => state, subscribe: () => () => undefined, retry: () => undefined };
}

function createReader(source: AsyncIterable<unknown>): SourceReader {
  const listeners = new Set<() => void>();
  let state: SourceState = { calls: noToolCalls, error: undefined, hasEnded: false };
  let reading: AsyncIterator<unknown> | undefined;
  let received: unknown[] = [];

  const change = (next: Partial<SourceState>): void => {
    state = { ...state, ...next };
    for (const listener of listeners) listener();
  };
  /** Handles a burst of events in one update. */
  const flush = (): void => {
    const events = received;
    received = [];
    const calls = reduceToolCalls(state.calls, events);
    if (calls !== state.calls) change({ calls });
  };
  const take = (event: unknown): void => {
    if (received.push(event) === 1) setTimeout(flush, 0);
  };

  const read = async (): Promise<void> => {
    let mine: AsyncIterator<unknown> | undefined;
    try {
      mine = source[Symbol.asyncIterator]();
      reading = mine;
      for (;;) {
        const { done, value } = await mine.next();
        if (reading !== mine) return;
        if (done === true) break;
        take(value);
      }
      flush();
      reading = undefined;
      change({ hasEnded: true });
    } catch (thrown) {
      if (reading !== mine) return;
      flush();
      reading = undefined;
      change({ error: toError(thrown) });
    }
  };
  const start = (): void => {
    if (reading !== undefined || state.error !== undefined || state.hasEnded) return;
    void read();
  };
  const stopUnlessShown = (): void => {
    if (listeners.size > 0 || reading === undefined) return;
    const left = reading;
    reading = undefined;
    // No component is left to show the source, so an error of its cleanup is ignored.
    void letGo(left).catch(() => undefined);
  };

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      start();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) setTimeout(stopUnlessShown, 0);
      };
    },
    retry() {
      if (reading !== undefined) return;
      change({ error: undefined, hasEnded: false });
      start();
    },
  };
}

async function letGo(iterator: AsyncIterator<unknown>): Promise<void> {
  await iterator.return?.();
}

const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(`The event source failed: ${describeThrown(thrown)}`);
