/**
 * Clients that follow the ledger, as streams of server-sent events.
 *
 * 1. A follower pulls: it reads the next piece from the ledger when its connection has room. At most one piece waits for
 *    a slow follower, and followers at the same position share it.
 * 2. A follower that reads nothing for too long is cut off. It loses nothing: it reconnects and resumes at its position.
 * 3. A follower whose token is revoked or expired receives nothing more.
 * 4. Old entries are limited in bytes per second, over all connections of a caller. New entries are read once for all.
 * 5. All followers share one wait, so an append costs one read of the ledger, however many follow.
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
  /** An event type, or a prefix that ends in a dot. */
  readonly type?: string | undefined;
};

export type FollowerLimits = {
  readonly heartbeatMs: number;
  /** How long a follower may leave a piece unread. */
  readonly stallMs: number;
  readonly most: number;
  /** Bytes of old entries per caller. A larger entry counts as one piece. */
  readonly pastRate?: AllowanceRate;
};

type Follower = {
  /** Since when a piece waits unread; undefined while the follower waits for a piece. */
  waitingSince: number | undefined;
  readonly cut: () => void;
  readonly pass: Pass;
};

/** The access of a follower, which may end. */
export type Pass = {
  /** Is the access still valid? Checked when `FollowerAccess.revision` has changed. */
  readonly isGood: () => boolean;
  readonly expiresAt: number | undefined;
};

export type FollowerAccess = {
  /** Changes when a pass may have become invalid. Must be cheap: it is read with every append. */
  readonly revision: () => string;
  readonly now: () => number;
};

const entriesAtOnce = 200;
/** Limits of one piece. For an entry larger than the second, only its size is sent. */
const bytesAtOnce = 262_144;
const largestEntryBytes = 1_048_576;
/** Appends within this time are sent together, so many followers wake up once. */
const gatherMs = 40;
const keptPieces = 8;
/** Followers this close to the end read new entries, which have no rate limit. */
const newEntries = 50;
const pastRate = { perSecond: 4 * bytesAtOnce, burst: 32 * bytesAtOnce };
const restMs = 50;
/** How soon a follower without access is cut off: while it reads, and while it waits. */
const checkEveryMs = 200;
const checkQuietEveryMs = 1_000;

const encoder = new TextEncoder();
const noBytes = new Uint8Array();

type FeedEvents = Omit<FeedEntry, 'previous'>;

export class Followers {
  readonly feed: Feed;
  readonly #entries: Entries;
  readonly #limits: FollowerLimits;
  readonly #gate: FollowerAccess;
  #revision: string;
  #checkedMs = 0;
  readonly #past: Allowance;
  /** The value at the last check. */
  #lastPosition: number | undefined;
  readonly #followers = new Set<Follower>();
  /** Encoded pieces without a filter, by their first position. */
  readonly #pieces = new Map<number, { readonly last: number; readonly bytes: Uint8Array }>();
  #changed = newSignal();
  #beat: NodeJS.Timeout | undefined;
  #guard: NodeJS.Timeout | undefined;
  #isLooking = false;
  #closed = false;

  constructor(entries: Entries, limits: FollowerLimits, gate: FollowerAccess) {
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
   * All entries after a position, then new ones. With `from: 'now'` the reader does not know the position, so it is sent
   * first: a reader that is cut off can resume from it. `cut` ends the connection if the stream alone cannot.
   */
  follow(
    after: number,
    filter: FollowFilter,
    pass: Pass,
    cut: (() => void) | undefined,
    { from = 'position', caller = '' }: { readonly from?: 'now' | 'position'; readonly caller?: string } = {},
  ): ReadableStream<Uint8Array> {
    let position = after;
    /** The position of the last message, which the next message names as `previous`. */
    let answer = after;
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
    /** The next piece; undefined if there is none yet, empty to try again. */
    const next = async (): Promise<Uint8Array | undefined> => {
      if (!this.#pieces.has(position) && !(await this.#mayRead(position, caller))) {
        await new Promise((resolve) => setTimeout(resolve, restMs));
        return noBytes;
      }
      if (isWhole) {
        const piece = await this.#piece(position);
        if (piece === undefined) return undefined;
        answer = position = piece.last;
        return piece.bytes;
      }
      const { entries, large } = await this.#readSome(position);
      if (large !== undefined) {
        position = large.position;
        if (filter.sessionId !== undefined && filter.sessionId !== large.sessionId) return noBytes;
        const text = toMessage('large', { ...large, previous: answer });
        answer = position;
        return encoder.encode(text);
      }
      if (entries.length === 0) return undefined;
      let text = '';
      for (const entry of entries) {
        position = entry.position;
        const events = pick(entry, filter);
        if (events.length === 0) continue;
        text += toMessage('entry', toEntry(entry, answer, events));
        answer = entry.position;
      }
      return encoder.encode(text);
    };
    /** A read error ends the stream, so no follower waits for ever. */
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
            const wake = this.#changed.promise;
            const bytes = await nextOrLeave();
            // A follower that reads old entries is never woken, so its access is checked here.
            if (performance.now() - this.#checkedMs > checkEveryMs) this.#checkPasses();
            if (isOver) return;
            if (bytes !== undefined && bytes.byteLength > 0) {
              given.enqueue(bytes);
              lastBeat = follower.waitingSince = performance.now();
              return;
            }
            if (bytes === undefined) await wake;
            else await new Promise(setImmediate); // nothing was let through of much that there is
            if (this.#closed) {
              leave();
              given.close();
              return;
            }
            if (isOver || performance.now() - lastBeat < this.#limits.heartbeatMs / 2 || !this.#isBeat)
              continue;
            // The filter matched nothing. Send the position, so that the reader can resume here.
            const place = position === answer ? '' : toMessage('position', { position, previous: answer });
            answer = position;
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

  /** Ends all streams. Followers may reconnect to another server. */
  close(): void {
    this.#closed = true;
    this.#rest();
    this.#wake(false);
  }

  #isBeat = false;

  /** The entries after a position, encoded once for all followers there. */
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
    // Erased values must not be sent from memory, so an erasure empties it.
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

  /** The entries that fit into one piece, or only the size of an entry that is too large. */
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

  /** Waits for appends while there are followers. */
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
        // The ledger is closed or cannot be read. The next read reports it.
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
    // The wait may have failed; without this, followers would only receive heartbeats.
    if (this.#followers.size > 0) this.#look();
  }

  /** Ends the streams of followers without valid access. */
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
    const wake = this.#changed;
    this.#changed = newSignal();
    this.#isBeat = isBeat;
    wake.resolve();
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

/** The fields that reveal a lost message come first. */
const toEntry = (
  { position, sessionId, depth }: Omit<FeedEntry, 'previous'>,
  previous: number,
  events: readonly ReadEvent[],
): FeedEntry => ({ position, previous, sessionId, depth, events });

/** One message: an entry with the position to resume from. JSON text has no line ends that would break SSE. */
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

/** The call id is in the event for calls that were not accepted. */
const isAbout = (event: ReadEvent, callId: string): boolean =>
  ('callId' in event && event.callId === callId) ||
  (isKnownEvent(event) && event.type === 'call.not_accepted' && event.refusedCallId === callId);
