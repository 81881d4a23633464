/**
 * The position of a durable behavior in the ledger, as the one who reads for it knows it.
 *
 * 1. Whoever holds it moves it, and nobody else; whoever has lost it finds out with the next move.
 * 2. It is moved in the commit that keeps what was emitted. Where nothing was, it is moved soon: while the ledger is busy
 *    with one move, the next goes as far as was read meanwhile.
 * 3. A handler may end its process. So whoever takes the position over from a process that is gone records each entry
 *    before it gives it to the handler: the name of the holder then says which entry, and how many processes gave it.
 *    An entry that ended three processes in a row is not given to the handler any more.
 */
import type { Entry } from '../../ledger/journal.ts';
import type { Engine } from '../state/engine.ts';
import { pause } from './pause.ts';

const lookAgainMs = 1_000;
/** The first of them left no record: nothing was known against the entry then. */
const mostRecorded = 2;
/** The position is kept a little after the handler is done, so the entry that ended a process is among the next few. */
const mostSuspects = 256;

/** What the name of a holder says: the entry it was about to give to the handler, and which process in a row this is. */
type Suspicion = { readonly position: number; readonly times: number };

export class HeldCursor {
  readonly #engine: Engine;
  readonly #name: string;
  /** Of this reader alone: one that was stopped and does not know it yet must not be taken for the next. */
  #holder: string;
  readonly #reader: string;
  /** How many more entries are recorded before they are given to the handler. */
  #suspects = 0;
  #suspicion: Suspicion | undefined;
  /** Up to where the ledger knows that it has read, and up to where it is to know soon. */
  #kept = 0;
  #toKeep = 0;
  /** While the ledger is being told. */
  #moving: Promise<void> | undefined;
  #isLost = true;

  constructor(engine: Engine, name: string) {
    this.#engine = engine;
    this.#name = name;
    this.#reader = engine.ids.secret('rdr');
    this.#holder = this.#reader;
  }

  /** Somebody else holds the position. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Where it stands, once it is held. Undefined where there is no need for it any more. */
  async take(startAfter: number, signal: AbortSignal): Promise<number | undefined> {
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
      const instead = isGone ? known.holder : undefined;
      const cursor = await ledger.cursors.take({ name, holder, instead, startAfter });
      if (cursor.holder === holder) {
        this.#kept = cursor.position;
        this.#toKeep = cursor.position;
        this.#isLost = false;
        this.#suspects = instead === undefined ? 0 : mostSuspects;
        this.#suspicion = instead === undefined ? undefined : readSuspicion(instead);
        return cursor.position;
      }
      await pause(clock, lookAgainMs, signal);
    }
    return undefined;
  }

  /**
   * To be asked before the handler is given anything of the entry. How many processes it ended, where it is not to be
   * given to the handler any more; undefined where it is, which is on record then.
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

  /** How it is moved with an append. Nothing else may move it until that is answered. */
  async moveTo(to: number): Promise<NonNullable<Entry['cursor']>> {
    await this.#moving;
    return this.#move(to);
  }

  /** The append that moved it was answered. */
  moved(to: number): void {
    this.#kept = to;
    this.#toKeep = to;
  }

  /** Has the position kept, soon. */
  note(position: number): void {
    if (position <= this.#kept || this.#isLost) return;
    this.#toKeep = position;
    if (this.#moving !== undefined) return;
    this.#moving = this.#keepUp().finally(() => {
      this.#moving = undefined;
    });
    this.#moving.catch(() => undefined); // heard by whoever waits for it next
  }

  /** Resolves once the ledger knows where it stands. */
  async keep(position: number): Promise<void> {
    this.note(position);
    await this.#moving;
  }

  /** Leaves it where it is, for whoever comes next. */
  async letGo(position: number): Promise<void> {
    try {
      await this.keep(position);
      await this.#engine.ledger.cursors.release(this.#name, this.#holder);
    } catch {
      // Whoever comes next finds that nobody is there.
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

/** In no name that `ids.secret` makes. */
const separator = '@';

function readSuspicion(holder: string): Suspicion | undefined {
  const [, position, times] = holder.split(separator).map(Number);
  return position === undefined || times === undefined ? undefined : { position, times };
}
