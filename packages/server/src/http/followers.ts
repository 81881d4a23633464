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
import type { Feed } from 'quittance/internal/ledger/feed';
import { createFeed } from 'quittance/internal/ledger/feed';
import type { Ledger } from 'quittance/internal/ledger/ledger';
import { lastPosition, measureEntries, whenAppended } from 'quittance/internal/ledger/reads';
import type { AllowanceRate } from './allowance.ts';
import { Allowance } from './allowance.ts';
import type { FollowFilter } from './follow-filter.ts';
import type { EntrySize } from 'quittance/internal/ledger/stored-entry';
import type { FeedEntry, FeedPosition, LargeEntry } from './api/feed.ts';
import { pick } from './follow-filter.ts';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';

type FollowerLimits = {
  readonly heartbeatMs: number;
  /** How long a follower may leave a piece unread. */
  readonly stallMs: number;
  readonly most: number;
  /** Bytes of old entries per caller. A larger entry counts as one piece. */
  readonly pastRate?: AllowanceRate;
};

type FollowerAccess = {
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
  readonly #ledger: Ledger;
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

  constructor(ledger: Ledger, limits: FollowerLimits, gate: FollowerAccess) {
    this.#ledger = ledger;
    this.#limits = limits;
    this.#past = new Allowance(limits.pastRate ?? pastRate);
    this.#gate = gate;
    this.#revision = gate.revision();
    this.feed = createFeed(ledger);
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
    this.#lastPosition ??= await lastPosition(this.#ledger);
    if (this.#lastPosition - after <= newEntries) return true;
    if (this.#past.take(caller, bytesAtOnce)) return true;
    // Positions may skip numbers, so a large difference may be a few entries.
    return (await measureEntries(this.#ledger, { after, limit: newEntries + 1 })).length <= newEntries;
  }

  /** The entries that fit into one piece, or only the size of an entry that is too large. */
  async #readSome(after: number): Promise<SomeEntries> {
    const sizes = await measureEntries(this.#ledger, { after, limit: entriesAtOnce });
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
        let seen = (this.#lastPosition = await lastPosition(this.#ledger));
        while (this.#followers.size > 0 && !this.#closed) {
          await whenAppended(this.#ledger, seen);
          await new Promise((resolve) => setTimeout(resolve, gatherMs));
          seen = this.#lastPosition = await lastPosition(this.#ledger);
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

/** One client that follows the ledger, as a stream of server-sent events. */

/** The access of a follower, which may end. */
type Pass = {
  /** Is the access still valid? Checked when `FollowerAccess.revision` has changed. */
  readonly isGood: () => boolean;
  readonly expiresAt: number | undefined;
};

/** Entries encoded for all followers at one position. */
type Piece = { readonly last: number; readonly bytes: Uint8Array };

/** The entries that fit into one piece, or only the size of an entry that is too large. */
type SomeEntries = {
  readonly entries: readonly Omit<FeedEntry, 'previous'>[];
  readonly large: EntrySize | undefined;
};

/** What one follower needs of all followers. */
interface FollowerHub {
  join(follower: FollowerStream): void;
  leave(follower: FollowerStream): void;
  /** May the caller read after this position now? The past has a rate limit. */
  mayRead(after: number, caller: string): Promise<boolean>;
  readPiece(after: number): Promise<Piece | undefined>;
  readSome(after: number): Promise<SomeEntries>;
  /** Resolves with the next append or heartbeat. */
  whenWoken(): Promise<void>;
  /** Cuts off followers without access, if that was not checked just now. */
  checkPasses(): void;
  isClosed(): boolean;
  /** Was the last wake-up a heartbeat, and is one due for a follower that last got something at `since`? */
  isBeatDue(since: number): boolean;
}

type FollowerTerms = {
  readonly after: number;
  readonly filter: FollowFilter;
  readonly pass: Pass;
  /** Ends the connection if the stream alone cannot. */
  readonly cut: (() => void) | undefined;
  readonly from: 'now' | 'position';
  readonly caller: string;
};

const restMs = 50;
const noBytes = new Uint8Array();

type Controller = ReadableStreamDefaultController<Uint8Array>;

class FollowerStream {
  readonly pass: Pass;
  /** Since when a piece waits unread; undefined while the follower waits for a piece. */
  waitingSince: number | undefined = performance.now();
  readonly #hub: FollowerHub;
  readonly #terms: FollowerTerms;
  readonly #isWhole: boolean;
  #position: number;
  /** The position of the last message, which the next message names as `previous`. */
  #sent: number;
  #lastBeat = performance.now();
  #isOver = false;
  #controller: Controller | undefined;

  constructor(hub: FollowerHub, terms: FollowerTerms) {
    this.#hub = hub;
    this.#terms = terms;
    this.pass = terms.pass;
    this.#position = this.#sent = terms.after;
    this.#isWhole = Object.values(terms.filter).every((value) => value === undefined);
  }

  open(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => this.#start(controller),
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 1 },
    );
  }

  cut(): void {
    this.#leave();
    const { cut } = this.#terms;
    if (cut === undefined) this.#controller?.error(new Error('The reader takes nothing.'));
    else cut();
  }

  #start(controller: Controller): void {
    this.#controller = controller;
    const { after, from } = this.#terms;
    const place = from === 'now' ? toFeedMessage('position', { position: after, previous: after }) : '';
    controller.enqueue(encoder.encode(`retry: 1000\n\n${place}`));
    this.#hub.join(this);
  }

  async #pull(controller: Controller): Promise<void> {
    this.waitingSince = undefined;
    while (!this.#isOver) {
      const woken = this.#hub.whenWoken();
      const bytes = await this.#nextOrLeave();
      // A follower that reads old entries is never woken, so its access is checked here.
      this.#hub.checkPasses();
      if (this.#isOver) return;
      if (bytes !== undefined && bytes.byteLength > 0) return this.#send(controller, bytes);
      if (bytes === undefined) await woken;
      else await new Promise(setImmediate); // the filter let nothing through, and there is more
      if (this.#hub.isClosed()) {
        this.#leave();
        return controller.close();
      }
      if (!this.#isOver && this.#hub.isBeatDue(this.#lastBeat)) return this.#send(controller, this.#beat());
    }
  }

  #send(controller: Controller, bytes: Uint8Array): void {
    controller.enqueue(bytes);
    this.#lastBeat = this.waitingSince = performance.now();
  }

  /** If the filter matched nothing, sends the position, so that the reader can resume there. */
  #beat(): Uint8Array {
    const [position, previous] = [this.#position, this.#sent];
    this.#sent = position;
    const place = position === previous ? '' : toFeedMessage('position', { position, previous });
    return encoder.encode(`${place}: still here\n\n`);
  }

  /** A read error ends the stream, so no follower waits for ever. */
  async #nextOrLeave(): Promise<Uint8Array | undefined> {
    try {
      return await this.#next();
    } catch (error) {
      this.#leave();
      this.#terms.cut?.();
      throw error;
    }
  }

  /** The next piece; undefined if there is none yet, empty to try again. */
  async #next(): Promise<Uint8Array | undefined> {
    if (!(await this.#hub.mayRead(this.#position, this.#terms.caller))) {
      await new Promise((resolve) => setTimeout(resolve, restMs));
      return noBytes;
    }
    if (!this.#isWhole) return this.#nextFiltered();
    const piece = await this.#hub.readPiece(this.#position);
    if (piece === undefined) return undefined;
    this.#sent = this.#position = piece.last;
    return piece.bytes;
  }

  async #nextFiltered(): Promise<Uint8Array | undefined> {
    const { filter } = this.#terms;
    const { entries, large } = await this.#hub.readSome(this.#position);
    if (large !== undefined) {
      this.#position = large.position;
      if (filter.sessionId !== undefined && filter.sessionId !== large.sessionId) return noBytes;
      const text = toFeedMessage('large', { ...large, previous: this.#sent });
      this.#sent = this.#position;
      return encoder.encode(text);
    }
    if (entries.length === 0) return undefined;
    let text = '';
    for (const entry of entries) {
      this.#position = entry.position;
      const events = pick(entry, filter);
      if (events.length === 0) continue;
      text += toFeedMessage('entry', toEntry(entry, this.#sent, events));
      this.#sent = entry.position;
    }
    return encoder.encode(text);
  }

  #leave(): void {
    this.#isOver = true;
    this.#hub.leave(this);
  }
}

/** The messages of a stream that follows the ledger. */

/** The fields that reveal a lost message come first. */
const toEntry = (
  { position, sessionId, depth }: Omit<FeedEntry, 'previous'>,
  previous: number,
  events: readonly ReadEvent[],
): FeedEntry => ({ position, previous, sessionId, depth, events });

/** One message: an entry with the position to resume from. JSON text has no line ends that would break SSE. */
const toFeedMessage = (
  type: 'entry' | 'position' | 'large',
  data: FeedEntry | FeedPosition | LargeEntry,
): string => `id: ${data.position}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
