/** One client that follows the ledger, as a stream of server-sent events. */
import type { EntrySize } from '../ledger/stored-entry.ts';
import type { FeedEntry } from './api/feed.ts';
import type { FollowFilter } from './follow-filter.ts';
import { toEntry, toFeedMessage } from './feed-message.ts';
import { pick } from './follow-filter.ts';

/** The access of a follower, which may end. */
export type Pass = {
  /** Is the access still valid? Checked when `FollowerAccess.revision` has changed. */
  readonly isGood: () => boolean;
  readonly expiresAt: number | undefined;
};

/** Entries encoded for all followers at one position. */
export type Piece = { readonly last: number; readonly bytes: Uint8Array };

/** The entries that fit into one piece, or only the size of an entry that is too large. */
export type SomeEntries = {
  readonly entries: readonly Omit<FeedEntry, 'previous'>[];
  readonly large: EntrySize | undefined;
};

/** What one follower needs of all followers. */
export interface FollowerHub {
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

export type FollowerTerms = {
  readonly after: number;
  readonly filter: FollowFilter;
  readonly pass: Pass;
  /** Ends the connection if the stream alone cannot. */
  readonly cut: (() => void) | undefined;
  readonly from: 'now' | 'position';
  readonly caller: string;
};

const restMs = 50;
const encoder = new TextEncoder();
const noBytes = new Uint8Array();

type Controller = ReadableStreamDefaultController<Uint8Array>;

export class FollowerStream {
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
