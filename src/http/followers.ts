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
import type { Entries } from '../ledger/entries.ts';
import type { AllowanceRate } from './allowance.ts';
import { Allowance } from './allowance.ts';
import type { FollowFilter } from './follow-filter.ts';
import { toEntry, toFeedMessage } from './feed-message.ts';
import type { FollowerHub, Pass, Piece, SomeEntries } from './follower-stream.ts';
import { FollowerStream } from './follower-stream.ts';

export type FollowerLimits = {
  readonly heartbeatMs: number;
  /** How long a follower may leave a piece unread. */
  readonly stallMs: number;
  readonly most: number;
  /** Bytes of old entries per caller. A larger entry counts as one piece. */
  readonly pastRate?: AllowanceRate;
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
/** How soon a follower without access is cut off: while it reads, and while it waits. */
const checkEveryMs = 200;
const checkQuietEveryMs = 1_000;

const encoder = new TextEncoder();

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
  readonly #followers = new Set<FollowerStream>();
  /** Encoded pieces without a filter, by their first position. */
  readonly #pieces = new Map<number, Piece>();
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

  /** What one follower needs of all. */
  readonly #hub: FollowerHub = {
    join: (follower) => {
      this.#followers.add(follower);
      this.#look();
    },
    leave: (follower) => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#rest();
    },
    mayRead: async (after, caller) => this.#pieces.has(after) || (await this.#mayRead(after, caller)),
    readPiece: (after) => this.#piece(after),
    readSome: (after) => this.#readSome(after),
    whenWoken: () => this.#changed.promise,
    checkPasses: () => {
      if (performance.now() - this.#checkedMs > checkEveryMs) this.#checkPasses();
    },
    isClosed: () => this.#closed,
    isBeatDue: (since) => this.#isBeat && performance.now() - since >= this.#limits.heartbeatMs / 2,
  };

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
    return new FollowerStream(this.#hub, { after, filter, pass, cut, from, caller }).open();
  }

  /** Ends all streams. Followers may reconnect to another server. */
  close(): void {
    this.#closed = true;
    this.#rest();
    this.#wake(false);
  }

  #isBeat = false;

  /** The entries after a position, encoded once for all followers there. */
  async #piece(after: number): Promise<Piece | undefined> {
    const kept = this.#pieces.get(after);
    if (kept !== undefined) return kept;
    const { entries, large } = await this.#readSome(after);
    if (large !== undefined)
      return {
        last: large.position,
        bytes: encoder.encode(toFeedMessage('large', { ...large, previous: after })),
      };
    const last = entries.at(-1);
    if (last === undefined) return undefined;
    const again = this.#pieces.get(after);
    if (again?.last === last.position) return again;
    let previous = after;
    let text = '';
    for (const entry of entries) {
      text += toFeedMessage('entry', toEntry(entry, previous, entry.events));
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

  /**
   * Is this a new entry, or may the caller read more old ones now? Reads run on the event loop, a piece at a
   * time.
   */
  async #mayRead(after: number, caller: string): Promise<boolean> {
    this.#lastPosition ??= await this.#entries.lastPosition();
    if (this.#lastPosition - after <= newEntries) return true;
    if (this.#past.take(caller, bytesAtOnce)) return true;
    // Then a large difference may be a few entries.
    if (this.#entries.hasGaps !== true) return false;
    return (await this.#entries.measure({ after, limit: newEntries + 1 })).length <= newEntries;
  }

  /** The entries that fit into one piece, or only the size of an entry that is too large. */
  async #readSome(after: number): Promise<SomeEntries> {
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
