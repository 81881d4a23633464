/**
 * One reader for each source, however many components show it: an async iterable can be read only once.
 *
 * 1. Reading begins when somebody shows the source and ends when nobody does any more. React's strict mode takes a
 *    component away and puts it back at once; that is not an end.
 * 2. What was read stays with the source. Where it can be read again, events that come again change nothing.
 * 3. What the source throws is shown, never thrown.
 */
import { describeThrown } from '../tool/describe-thrown.ts';
import type { ToolCalls } from '../view/tool-calls.ts';
import { noToolCalls, reduceToolCalls } from '../view/tool-calls.ts';

/**
 * Where calls are read from: events as they come, events that are all here, or calls that are already made of some
 * (`fromMessageParts`, `reduceToolCalls`).
 */
export type ToolCallSource = AsyncIterable<unknown> | Iterable<unknown> | ToolCalls;

/** What a source has told so far. */
export type SourceState = {
  readonly calls: ToolCalls;
  /** What the source threw, if it did. */
  readonly error: Error | undefined;
  /** Nothing more will come. */
  readonly hasEnded: boolean;
};

export interface SourceReader {
  /** The same object until something changes. */
  readonly state: () => SourceState;
  /** Calls the listener when something changed; the function it gives stops that. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Reads again a source that failed or ended. */
  readonly retry: () => void;
}

/** The reader of a source: always the same one for the same source. */
export function readerOf(source: ToolCallSource | undefined): SourceReader {
  if (source === undefined) return standingReader(noToolCalls);
  if (!(Symbol.asyncIterator in source)) return standingReader(source);
  const known = readers.get(source);
  if (known !== undefined) return known;
  const reader = createReader(source);
  readers.set(source, reader);
  return reader;
}

/** Belongs to the sources: an entry lives and dies with its own, and no two of them meet here. */
const readers = new WeakMap<AsyncIterable<unknown>, SourceReader>();

/** For what is all here: it can be shown at once, on a server too. */
function standingReader(source: Iterable<unknown> | ToolCalls): SourceReader {
  const calls = source instanceof Map ? (source as ToolCalls) : reduceToolCalls(noToolCalls, source);
  const state: SourceState = { calls, error: undefined, hasEnded: true };
  return { state: () => state, subscribe: () => () => undefined, retry: () => undefined };
}

function createReader(source: AsyncIterable<unknown>): SourceReader {
  const listeners = new Set<() => void>();
  let state: SourceState = { calls: noToolCalls, error: undefined, hasEnded: false };
  let reading: AsyncIterator<unknown> | undefined;
  let news: unknown[] = [];

  const change = (next: Partial<SourceState>): void => {
    state = { ...state, ...next };
    for (const listener of listeners) listener();
  };
  /** A burst of events is shown once. */
  const flush = (): void => {
    const events = news;
    news = [];
    const calls = reduceToolCalls(state.calls, events);
    if (calls !== state.calls) change({ calls });
  };
  const take = (event: unknown): void => {
    if (news.push(event) === 1) setTimeout(flush, 0);
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
    // Nobody is left to show it to, whatever letting go of it brings.
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
  thrown instanceof Error ? thrown : new Error(`The source of events failed: ${describeThrown(thrown)}`);
