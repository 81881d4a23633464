/**
 * The cursor of a durable behavior in the ledger, as its reader knows it.
 *
 * 1. Only the holder moves it. A reader that lost it finds out with its next move.
 * 2. It moves in the commit that stores the emitted events. Without emitted events it moves soon: while the
 *    ledger writes one move, the next one covers everything read meanwhile. The position of entries that no handler
 *    got is stored within a second, because a move for each would slow down all calls.
 * 3. A handler may end its process. So a reader that takes the cursor over from a dead process records each
 *    entry before it delivers it. The holder's name then tells which entry, and how many processes delivered
 *    it. An entry that ended three processes in a row is no longer delivered.
 */
import type { Timer } from '../../base/clock.ts';
import type { Entry } from '../../ledger/journal.ts';
import type { Engine } from '../state/engine.ts';
import { pause } from './pause.ts';

const lookAgainMs = 1_000;
const restMs = 1_000;
/** The first of the three left no record: the entry was not suspected yet. */
const mostRecorded = 2;
/**
 * The cursor is stored shortly after a handler is done, so the entry that ended a process is among the next
 * few.
 */
const mostSuspects = 256;

/**
 * Encoded in a holder's name: the entry it was about to deliver, and the number of processes in a row that
 * did so.
 */
type Suspicion = { readonly position: number; readonly times: number };

export class HeldCursor {
  readonly #engine: Engine;
  readonly #name: string;
  /**
   * Unique to this reader: a reader that does not know yet that it lost the cursor must not be confused with
   * the next.
   */
  #holder: string;
  readonly #reader: string;
  /** How many more entries are recorded before delivery. */
  #suspects = 0;
  #suspicion: Suspicion | undefined;
  /** The stored position, and the position to store soon. */
  #kept = 0;
  #toKeep = 0;
  /** Pending while the ledger stores a move. */
  #moving: Promise<void> | undefined;
  #isLost = true;
  #tookOver = false;
  /** The position of entries that no handler got, and the timer that stores it. */
  #readTo = 0;
  #rest: Timer | undefined;

  constructor(engine: Engine, name: string) {
    this.#engine = engine;
    this.#name = name;
    this.#reader = engine.ids.secret('rdr');
    this.#holder = this.#reader;
  }

  /** Does another reader hold the cursor? */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Did the last reader stop in the middle of a delivery, as far as its end is known? */
  get tookOver(): boolean {
    return this.#tookOver;
  }

  /**
   * The position, once this reader holds it. Undefined if aborted. `onStored`: the ledger has a position, whichever
   * reader holds it.
   */
  async take(startAfter: number, signal: AbortSignal, onStored: () => void): Promise<number | undefined> {
    const { ledger, clock } = this.#engine;
    const name = this.#name;
    const holder = this.#holder;
    while (!signal.aborted) {
      const known = await ledger.cursors.read(name);
      const isGone =
        known?.holder !== undefined &&
        known.holder !== holder &&
        known.ownerId !== undefined &&
        (await ledger.owners.statusOf(known.ownerId)) === 'gone';
      const instead = isGone || isLeft(known?.holder) ? known?.holder : undefined;
      const cursor = await ledger.cursors.take({ name, holder, instead, startAfter });
      onStored();
      if (cursor.holder === holder) {
        this.#kept = cursor.position;
        this.#toKeep = cursor.position;
        this.#isLost = false;
        this.#tookOver = instead !== undefined;
        this.#suspects = isGone ? mostSuspects : 0;
        this.#suspicion = instead === undefined ? undefined : readSuspicion(instead);
        return cursor.position;
      }
      await pause(clock, lookAgainMs, signal);
    }
    return undefined;
  }

  /**
   * Call before delivering an entry. Returns how many processes the entry ended, if it must not be delivered
   * any more. Otherwise records the delivery and returns undefined.
   */
  async poisonedBy(position: number): Promise<number | undefined> {
    if (this.#suspects === 0) return undefined;
    this.#suspects--;
    const before = this.#suspicion?.position === position ? this.#suspicion.times : 0;
    if (before >= mostRecorded) return before + 1;
    await this.#moving;
    const holder = `${this.#reader}${separator}${position}${separator}${before + 1}`;
    const cursor = await this.#engine.ledger.cursors.take({
      name: this.#name,
      holder,
      instead: this.#holder,
      startAfter: position,
    });
    if (cursor.holder === holder) this.#holder = holder;
    else this.#isLost = true;
    return undefined;
  }

  /** The move for an append. No other move may happen until the append is answered. */
  async moveTo(to: number): Promise<NonNullable<Entry['cursor']>> {
    await this.#moving;
    return this.#move(to);
  }

  /** The append that moved it succeeded. */
  moved(to: number): void {
    this.#kept = to;
    this.#toKeep = to;
  }

  /** Stores the position soon. */
  note(position: number): void {
    if (position <= this.#kept || this.#isLost) return;
    this.#toKeep = position;
    if (this.#moving !== undefined) return;
    this.#moving = this.#keepUp().finally(() => {
      this.#moving = undefined;
    });
    this.#moving.catch(() => undefined); // the next caller that awaits it gets the error
  }

  /** Resolves once the ledger has stored the position. */
  async keep(position: number): Promise<void> {
    this.note(position);
    await this.#moving;
  }

  /** Nothing more to read. Resolves once the ledger has stored what handlers got. */
  async rest(position: number): Promise<void> {
    if (this.#toKeep > this.#kept) return this.keep(position);
    this.#readTo = position;
    if (this.#rest !== undefined || position <= this.#kept || this.#isLost) return;
    this.#rest = this.#engine.clock.startTimer(() => {
      this.#rest = undefined;
      this.note(this.#readTo);
    }, restMs);
    this.#rest.keepAlive(false);
  }

  /** Releases it for the next reader, which learns from a mark if this one stopped in the middle of a delivery. */
  async letGo(position: number, isDelivering: boolean): Promise<void> {
    this.#rest?.stop();
    this.#rest = undefined;
    try {
      await this.keep(position);
      const { cursors } = this.#engine.ledger;
      const [name, instead] = [this.#name, this.#holder];
      if (isDelivering)
        await cursors.take({ name, holder: `${this.#reader}${leftMark}`, instead, startAfter: position });
      else await cursors.release(name, instead);
    } catch {
      // The next reader finds that this owner is gone.
    }
    this.#isLost = true;
  }

  async #keepUp(): Promise<void> {
    while (this.#kept < this.#toKeep && !this.#isLost) {
      const to = this.#toKeep;
      if (await this.#engine.ledger.cursors.move(this.#move(to))) this.#kept = to;
      else this.#isLost = true;
    }
  }

  #move(to: number): NonNullable<Entry['cursor']> {
    return { name: this.#name, holder: this.#holder, from: this.#kept, to };
  }
}

/** Never part of a name from `ids.secret`. */
const separator = '@';
const leftMark = `${separator}left`;

/** Did its holder stop in the middle of a delivery and leave the cursor to the next reader? */
export const isLeft = (holder: string | undefined): boolean => holder?.endsWith(leftMark) === true;

function readSuspicion(holder: string): Suspicion | undefined {
  const [, position, times] = holder.split(separator).map(Number);
  return position === undefined || times === undefined ? undefined : { position, times };
}
