/**
 * Those who follow the ledger, as streams of server-sent events.
 *
 * 1. A follower is given what it has room for and nothing more: it asks, reads from the ledger where it stands, and
 *    asks again. What waits for a slow one is a single piece, which it shares with all others at the same place.
 * 2. One that takes nothing for too long is cut off. It loses nothing by that: it comes back and says where it was.
 * 3. One whose token is revoked, or over, is told nothing from then on.
 * 4. What a caller reads of the past is bounded in bytes a second, over all connections of that caller. What is new is
 *    read once for all of them.
 * 5. All wait for one thing, so that a thousand of them cost one look at the ledger for each time something is kept.
 */
import type { Feed } from '../ledger/feed.ts';
import { createFeed } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { Entries } from '../ledger/entries.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { EntrySize } from '../ledger/stored-entry.ts';
import type { AllowanceRate } from './allowance.ts';
import { Allowance } from './allowance.ts';
import type { FeedEntry, FeedPosition, LargeEntry } from './api/feed.ts';

export type FollowFilter = {
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  /** A type, or the beginning of some that ends in a dot. */
  readonly type?: string | undefined;
};

export type FollowerLimits = {
  readonly heartbeatMs: number;
  /** How long a follower may take nothing of what waits for it. */
  readonly stallMs: number;
  readonly most: number;
  /** Bytes that one caller may read of the past. An entry that alone is larger counts as one piece. */
  readonly pastRate?: AllowanceRate;
};

type Follower = {
  /** Since when something waits that it did not take; undefined while it waits for us. */
  waitingSince: number | undefined;
  readonly cut: () => void;
  readonly pass: Pass;
};

/** By which a follower was let in, and may be put out again. */
export type Pass = {
  /** Whether it would be let in now. Asked where `Gate.revision` has changed. */
  readonly isGood: () => boolean;
  readonly expiresAt: number | undefined;
};

export type Gate = {
  /** Another text once a pass may have become worthless. Cheap: asked whenever there is news. */
  readonly revision: () => string;
  readonly now: () => number;
};

const entriesAtOnce = 200;
/** What is decoded and sent at once; an entry that alone is larger than the second is told of, not sent. */
const bytesAtOnce = 262_144;
const largestEntryBytes = 1_048_576;
/** What is kept together is told together: few notice a moment, and a thousand followers are woken once for it. */
const gatherMs = 40;
const keptPieces = 8;
/** Followers this close to the end read what is new, which is never held back. */
const newEntries = 50;
const pastRate = { perSecond: 4 * bytesAtOnce, burst: 32 * bytesAtOnce };
const restMs = 50;
/** How soon one who reads is put out, and how soon one who waits while nothing is kept. */
const checkEveryMs = 200;
const checkQuietEveryMs = 1_000;

const encoder = new TextEncoder();
const noBytes = new Uint8Array();

type FeedEvents = Omit<FeedEntry, 'previous'>;

export class Followers {
  readonly feed: Feed;
  readonly #entries: Entries;
  readonly #limits: FollowerLimits;
  readonly #gate: Gate;
  #revision: string;
  #checkedMs = 0;
  readonly #past: Allowance;
  /** As it was when somebody looked last. */
  #lastPosition: number | undefined;
  readonly #followers = new Set<Follower>();
  /** Encoded pieces of the whole ledger, by where they begin. */
  readonly #pieces = new Map<number, { readonly last: number; readonly bytes: Uint8Array }>();
  #news = newSignal();
  #beat: NodeJS.Timeout | undefined;
  #guard: NodeJS.Timeout | undefined;
  #isLooking = false;
  #closed = false;

  constructor(entries: Entries, limits: FollowerLimits, gate: Gate) {
    this.#entries = entries;
    this.#limits = limits;
    this.#past = new Allowance(limits.pastRate ?? pastRate);
    this.#gate = gate;
    this.#revision = gate.revision();
    this.feed = createFeed(entries);
  }

  get count(): number {
    return this.#followers.size;
  }

  get isFull(): boolean {
    return this.#followers.size >= this.#limits.most;
  }

  /**
   * Everything after a position, and then what comes. `from` is `now` where the reader does not know the position: it
   * is told at once, so that one who is cut off before anything comes still comes back to here. `cut` ends the
   * connection where the stream alone cannot.
   */
  follow(
    after: number,
    filter: FollowFilter,
    pass: Pass,
    cut: (() => void) | undefined,
    { from = 'position', caller = '' }: { readonly from?: 'now' | 'position'; readonly caller?: string } = {},
  ): ReadableStream<Uint8Array> {
    let position = after;
    /** The position of the last message: what the next one says it follows. */
    let told = after;
    let isOver = false;
    let lastBeat = performance.now();
    const isWhole = Object.values(filter).every((value) => value === undefined);
    const leave = (): void => {
      isOver = true;
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#rest();
    };
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const follower: Follower = {
      waitingSince: performance.now(),
      pass,
      cut: () => {
        leave();
        if (cut === undefined) controller?.error(new Error('The reader takes nothing.'));
        else cut();
      },
    };
    /** What to send next; undefined where there is nothing yet, empty where it is to ask again. */
    const next = async (): Promise<Uint8Array | undefined> => {
      if (!this.#pieces.has(position) && !(await this.#mayRead(position, caller))) {
        await new Promise((resolve) => setTimeout(resolve, restMs));
        return noBytes;
      }
      if (isWhole) {
        const piece = await this.#piece(position);
        if (piece === undefined) return undefined;
        told = position = piece.last;
        return piece.bytes;
      }
      const { entries, large } = await this.#readSome(position);
      if (large !== undefined) {
        position = large.position;
        if (filter.sessionId !== undefined && filter.sessionId !== large.sessionId) return noBytes;
        const text = toMessage('large', { ...large, previous: told });
        told = position;
        return encoder.encode(text);
      }
      if (entries.length === 0) return undefined;
      let text = '';
      for (const entry of entries) {
        position = entry.position;
        const events = pick(entry, filter);
        if (events.length === 0) continue;
        text += toMessage('entry', toEntry(entry, told, events));
        told = entry.position;
      }
      return encoder.encode(text);
    };
    /** What cannot be read ends it: nobody stays on the list who is told nothing more. */
    const nextOrLeave = async (): Promise<Uint8Array | undefined> => {
      try {
        return await next();
      } catch (error) {
        leave();
        cut?.();
        throw error;
      }
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (given) => {
          controller = given;
          const place = from === 'now' ? toMessage('position', { position: after, previous: after }) : '';
          given.enqueue(encoder.encode(`retry: 1000\n\n${place}`));
          this.#followers.add(follower);
          this.#look();
        },
        pull: async (given) => {
          follower.waitingSince = undefined;
          while (!isOver) {
            const news = this.#news.promise;
            const bytes = await nextOrLeave();
            // One that reads what is old is not woken by anything, and is put out all the same.
            if (performance.now() - this.#checkedMs > checkEveryMs) this.#checkPasses();
            if (isOver) return;
            if (bytes !== undefined && bytes.byteLength > 0) {
              given.enqueue(bytes);
              lastBeat = follower.waitingSince = performance.now();
              return;
            }
            if (bytes === undefined) await news;
            else await new Promise(setImmediate); // nothing was let through of much that there is
            if (this.#closed) {
              leave();
              given.close();
              return;
            }
            if (isOver || performance.now() - lastBeat < this.#limits.heartbeatMs / 2 || !this.#isBeat)
              continue;
            // Where nothing was let through, a reader can still come back to here.
            const place = position === told ? '' : toMessage('position', { position, previous: told });
            told = position;
            given.enqueue(encoder.encode(`${place}: still here\n\n`));
            lastBeat = follower.waitingSince = performance.now();
            return;
          }
        },
        cancel: leave,
      },
      { highWaterMark: 1 },
    );
  }

  /** Lets all of them go; they may come back elsewhere. */
  close(): void {
    this.#closed = true;
    this.#rest();
    this.#wake(false);
  }

  #isBeat = false;

  /** The whole ledger after a position, encoded once for all who stand there. */
  async #piece(after: number): Promise<{ readonly last: number; readonly bytes: Uint8Array } | undefined> {
    const kept = this.#pieces.get(after);
    if (kept !== undefined) return kept;
    const { entries, large } = await this.#readSome(after);
    if (large !== undefined)
      return {
        last: large.position,
        bytes: encoder.encode(toMessage('large', { ...large, previous: after })),
      };
    const last = entries.at(-1);
    if (last === undefined) return undefined;
    const again = this.#pieces.get(after);
    if (again?.last === last.position) return again;
    let previous = after;
    let text = '';
    for (const entry of entries) {
      text += toMessage('entry', toEntry(entry, previous, entry.events));
      previous = entry.position;
    }
    const piece = { last: last.position, bytes: encoder.encode(text) };
    // What was erased must not be told from memory: such an entry empties it.
    if (
      entries.some(({ events }) =>
        events.some(({ type }) => type === 'body.erased' || type === 'session.dropped'),
      )
    )
      this.#pieces.clear();
    this.#pieces.set(after, piece);
    for (const old of this.#pieces.keys()) {
      if (this.#pieces.size <= keptPieces) break;
      this.#pieces.delete(old);
    }
    return piece;
  }

  /** Is this new, or may the caller read more of the past now? Reading is on the event loop, a piece at a time. */
  async #mayRead(after: number, caller: string): Promise<boolean> {
    this.#lastPosition ??= await this.#entries.lastPosition();
    if (this.#lastPosition - after <= newEntries) return true;
    return this.#past.take(caller, bytesAtOnce);
  }

  /** As many entries as fit into one piece; the size alone of one that does not fit into any. */
  async #readSome(
    after: number,
  ): Promise<{ readonly entries: readonly FeedEvents[]; readonly large: EntrySize | undefined }> {
    const sizes = await this.#entries.measure({ after, limit: entriesAtOnce });
    const [first] = sizes;
    if (first !== undefined && first.bytes > largestEntryBytes) return { entries: [], large: first };
    let bytes = 0;
    const count = sizes.findIndex((size) => (bytes += size.bytes) > bytesAtOnce);
    const limit = count === -1 ? sizes.length : Math.max(1, count);
    const entries = limit === 0 ? [] : await this.feed.read(after, limit);
    return { entries, large: undefined };
  }

  /** Looks out for news as long as anybody follows. */
  #look(): void {
    this.#beat ??= setInterval(() => this.#beatNow(), this.#limits.heartbeatMs).unref();
    this.#guard ??= setInterval(() => this.#checkPasses(), checkQuietEveryMs).unref();
    if (this.#isLooking) return;
    this.#isLooking = true;
    void (async () => {
      try {
        let seen = (this.#lastPosition = await this.#entries.lastPosition());
        while (this.#followers.size > 0 && !this.#closed) {
          await this.#entries.whenAppended(seen);
          await new Promise((resolve) => setTimeout(resolve, gatherMs));
          seen = this.#lastPosition = await this.#entries.lastPosition();
          this.#wake(false);
        }
      } catch {
        // The ledger was closed, or cannot be read: whoever asks it next is told.
      } finally {
        this.#isLooking = false;
      }
    })();
  }

  #beatNow(): void {
    const now = performance.now();
    for (const follower of this.#followers)
      if (follower.waitingSince !== undefined && now - follower.waitingSince > this.#limits.stallMs)
        follower.cut();
    this.#wake(true);
    // Whoever looked out may have failed at it, and those who still follow would hear of nothing between the beats.
    if (this.#followers.size > 0) this.#look();
  }

  /** Puts out those who would not be let in any more. */
  #checkPasses(): void {
    this.#checkedMs = performance.now();
    const revision = this.#gate.revision();
    const now = this.#gate.now();
    const isChanged = revision !== this.#revision;
    this.#revision = revision;
    for (const follower of this.#followers) {
      const { expiresAt, isGood } = follower.pass;
      if ((expiresAt !== undefined && expiresAt <= now) || (isChanged && !isGood())) follower.cut();
    }
  }

  #wake(isBeat: boolean): void {
    if (!this.#closed) this.#checkPasses();
    const news = this.#news;
    this.#news = newSignal();
    this.#isBeat = isBeat;
    news.resolve();
  }

  #rest(): void {
    clearInterval(this.#beat);
    clearInterval(this.#guard);
    this.#beat = this.#guard = undefined;
    this.#pieces.clear();
  }
}

type Signal = { readonly promise: Promise<void>; readonly resolve: () => void };

function newSignal(): Signal {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** What is needed to tell whether something is missing comes first. */
const toEntry = (
  { position, sessionId, depth }: Omit<FeedEntry, 'previous'>,
  previous: number,
  events: readonly ReadEvent[],
): FeedEntry => ({ position, previous, sessionId, depth, events });

/** One message: an entry whose position is where to go on from. JSON has no line end that SSE would take for one. */
export const toMessage = (
  type: 'entry' | 'position' | 'large',
  data: FeedEntry | FeedPosition | LargeEntry,
): string => `id: ${data.position}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

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

/** A call that was not accepted is named by the event that says so. */
const isAbout = (event: ReadEvent, callId: string): boolean =>
  ('callId' in event && event.callId === callId) ||
  (isKnownEvent(event) && event.type === 'call.not_accepted' && event.refusedCallId === callId);
