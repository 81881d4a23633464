/**
 * Events in the order they were kept, given to one behaviour.
 *
 * 1. What a handler emits is appended together with the new position: once, however often an event is delivered.
 * 2. The position of a durable behaviour is held by one process at a time. Whoever loses it stops where it is.
 * 3. An event is delivered until it was handled or its failure is kept; a ledger in trouble only makes this later.
 */
import { isQuittanceError } from '../../base/error.ts';
import { isEmittedEvent } from '../../call/emitted-event.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import type { Entry } from '../../ledger/ledger.ts';
import type { Feed, FeedEntry } from '../../ledger/feed.ts';
import type { Engine } from '../engine.ts';
import { LedgerTrouble } from '../ledger-trouble.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { Registration } from './registration.ts';
import type { AnyEvent, CallTool, Delivery, Handled } from './run-handler.ts';
import { callIdOf, failure, placeOf, runHandler } from './run-handler.ts';

/** How many behaviours may set each other off in a row. */
export const deepestCause = 32;

const batchSize = 256;
const lookAgainMs = 1_000;

export type DeliveryDesk = {
  readonly engine: Engine;
  readonly feed: Feed;
  readonly callTool: CallTool;
  /** Who reads, as cursors name it. */
  readonly holder: string;
};

export class BehaviorReader {
  readonly #desk: DeliveryDesk;
  readonly #registration: Registration;
  readonly #stop = new AbortController();
  #position = 0;
  /** Up to where the ledger knows that it has read, and up to where it is to know soon. */
  #kept = 0;
  #toKeep = 0;
  /** While the ledger is being told. */
  #moving: Promise<void> | undefined;
  /** Somebody else holds the position. */
  #isLost = false;
  #running: Promise<void> | undefined;
  #waiters: { readonly position: number; readonly resolve: () => void }[] = [];

  constructor(desk: DeliveryDesk, registration: Registration) {
    this.#desk = desk;
    this.#registration = registration;
  }

  /** Begins after this position, where its name has none yet. */
  start(startAfter: number): void {
    this.#position = startAfter;
    this.#running = this.#run(startAfter);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new DOMException('The runtime is closing.', 'AbortError'));
    const { deadlines, cancelGraceMs } = this.#desk.engine;
    const longEnough = Promise.withResolvers<void>();
    const watch = deadlines.watch(cancelGraceMs, () => longEnough.resolve());
    // A handler that does not stop when it is told to is left behind: its event is delivered again to whoever comes next.
    await Promise.race([this.#running, longEnough.promise]);
    watch.stop();
  }

  /** Resolves when everything up to this position was read, here or by whoever holds the cursor. */
  async reached(position: number): Promise<void> {
    const { ledger } = this.#desk.engine;
    while (this.#position < position && !this.#stop.signal.aborted) {
      if (this.#registration.kind === 'durable') {
        const cursor = await ledger.readCursor(this.#registration.name);
        if (cursor !== undefined && cursor.position >= position) return;
      }
      await Promise.race([
        new Promise<void>((resolve) => this.#waiters.push({ position, resolve })),
        this.#sleep(25),
      ]);
    }
  }

  async #run(startAfter: number): Promise<void> {
    const { signal } = this.#stop;
    let trouble = 0;
    while (!signal.aborted)
      try {
        if (this.#registration.kind === 'durable' && !(await this.#take(startAfter))) break;
        await this.#read();
        trouble = 0;
      } catch (error) {
        if (isClosed(error)) break;
        // Whatever it was, nothing is lost by coming back: the position has not moved.
        await this.#sleep(Math.min(30_000, lookAgainMs * 2 ** trouble++));
      }
    await this.#letGo();
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  /** Takes the position. False once it is to stop. */
  async #take(startAfter: number): Promise<boolean> {
    const { engine, holder } = this.#desk;
    const { ledger } = engine;
    const { name } = this.#registration;
    while (!this.#stop.signal.aborted) {
      const known = await ledger.readCursor(name);
      const isGone =
        known?.holder !== undefined &&
        known.holder !== holder &&
        known.ownerId !== undefined &&
        !(await ledger.isAlive(known.ownerId));
      const cursor = await ledger.takeCursor({
        name,
        holder,
        instead: isGone ? known.holder : undefined,
        startAfter,
      });
      if (cursor.holder === holder) {
        this.#reach(cursor.position);
        this.#kept = cursor.position;
        this.#toKeep = cursor.position;
        this.#isLost = false;
        return true;
      }
      await this.#sleep(lookAgainMs);
    }
    return false;
  }

  async #letGo(): Promise<void> {
    if (this.#registration.kind !== 'durable') return;
    try {
      this.#note(this.#position);
      await this.#moving;
      await this.#desk.engine.ledger.releaseCursor(this.#registration.name, this.#desk.holder);
    } catch {
      // Whoever comes next finds that nobody is there.
    }
  }

  /** Reads until it is to stop or has lost its position. */
  async #read(): Promise<void> {
    const { feed, engine } = this.#desk;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const entries = await feed.read(this.#position, batchSize);
      if (entries.length === 0) {
        this.#note(this.#position);
        await this.#moving;
        if (this.#isLost) return;
        await unlessAborted(engine.ledger.whenAppended(this.#position), signal);
        continue;
      }
      for (const entry of entries) {
        if (signal.aborted) return;
        if (!(await this.#hear(entry))) return;
      }
    }
  }

  /** False where it lost its position. */
  async #hear(entry: FeedEntry): Promise<boolean> {
    const handled: Handled['events'][number][] = [];
    let heard = false;
    for (const event of entry.events) {
      // What a newer version wrote means nothing to whoever was written for this one.
      if (!isKnownEvent(event) && !isEmittedEvent(event)) continue;
      for (const delivery of await this.#deliveriesOf(event, entry.depth)) {
        heard = true;
        handled.push(...(await this.#deliver(delivery)));
        // A handler that was told to stop may not have done its work: whoever comes next is given the event again.
        if (this.#stop.signal.aborted) return false;
      }
    }
    if (handled.length > 0) {
      if (!(await this.#keep(handled, entry))) return false;
    } else if (heard) this.#note(entry.position);
    this.#reach(entry.position);
    return !this.#isLost;
  }

  /** Usually none: an event is of another type, or does not match. */
  async #deliveriesOf(event: AnyEvent, depth: number): Promise<readonly Delivery[]> {
    const { name, types } = this.#registration;
    const deliveries: Delivery[] = [];
    if (event.type === 'retry.requested' && 'behavior' in event && event.behavior === name) {
      const again = await this.#find(event.forEvent, event.sessionId, event.forCallId);
      await this.#until(event.notBefore);
      if (again !== undefined) deliveries.push({ event: again, depth, attempt: event.attempt });
    }
    if (types.has(event.type)) deliveries.push({ event, depth, attempt: 1 });
    return deliveries;
  }

  async #deliver(delivery: Delivery): Promise<Handled['events']> {
    const { engine, callTool } = this.#desk;
    const registration = this.#registration;
    try {
      if (!registration.matches(delivery.event)) return [];
    } catch (error) {
      return [failure(engine, registration, delivery, error, false)];
    }
    if (delivery.depth >= deepestCause) return this.#tooDeep(delivery);
    return (await runHandler(engine, callTool, registration, delivery, this.#stop.signal)).events;
  }

  /** Said once: what says so is deeper still, and is heard by nobody. */
  #tooDeep(delivery: Delivery): Handled['events'] {
    if (delivery.depth > deepestCause) return [];
    const said = failure(this.#desk.engine, this.#registration, delivery, undefined, false);
    return [
      {
        ...said,
        reason: 'behavior.depth',
        message: `${deepestCause} behaviors have set each other off in a row, so this one was not run. Look at the trace for the circle.`,
        payloadExtras: undefined,
      },
    ];
  }

  /** Appends what was emitted, with the position. False where somebody else has it. */
  async #keep(events: Handled['events'], { position, depth }: FeedEntry): Promise<boolean> {
    const { engine } = this.#desk;
    const [first] = events;
    if (first === undefined) return true;
    await this.#moving;
    const entry: Entry = {
      entryId: engine.ids.next('ent'),
      sessionId: placeOf(first).sessionId,
      callId: events.map(callIdOf).find((callId) => callId !== undefined),
      expectedVersion: 'any',
      events,
      depth: depth + 1,
      ...(this.#registration.kind === 'durable' && { cursor: this.#moveTo(position) }),
    };
    const { status } = await engine.ledger.append(entry);
    if (status !== 'appended') return false;
    this.#kept = position;
    this.#toKeep = position;
    return true;
  }

  /** Has the position kept, soon: where the ledger is busy with one move, the next goes as far as it got meanwhile. */
  #note(position: number): void {
    if (this.#registration.kind !== 'durable' || position <= this.#kept) return;
    this.#toKeep = position;
    if (this.#moving !== undefined) return;
    this.#moving = this.#move().finally(() => {
      this.#moving = undefined;
    });
    this.#moving.catch(() => undefined); // heard by whoever waits for it next
  }

  async #move(): Promise<void> {
    while (this.#kept < this.#toKeep && !this.#isLost) {
      const to = this.#toKeep;
      if (await this.#desk.engine.ledger.moveCursor(this.#moveTo(to))) this.#kept = to;
      else this.#isLost = true;
    }
  }

  #moveTo(to: number): NonNullable<Entry['cursor']> {
    return { name: this.#registration.name, holder: this.#desk.holder, from: this.#kept, to };
  }

  #reach(position: number): void {
    this.#position = position;
    if (this.#waiters.length === 0) return;
    for (const waiter of this.#waiters.filter((one) => one.position <= position)) waiter.resolve();
    this.#waiters = this.#waiters.filter((one) => one.position > position);
  }

  async #find(eventId: string, sessionId: string, callId: string | undefined): Promise<AnyEvent | undefined> {
    const { ledger } = this.#desk.engine;
    const events: readonly AnyEvent[] | undefined =
      callId === undefined
        ? await ledger.readSession(sessionId)
        : (await ledger.readCall(sessionId, callId))?.events;
    return events?.find(({ id }) => id === eventId);
  }

  async #until(notBefore: number | undefined): Promise<void> {
    const { ledger } = this.#desk.engine;
    while (notBefore !== undefined && ledger.now() < notBefore && !this.#stop.signal.aborted)
      await this.#sleep(Math.min(notBefore - ledger.now(), 3_600_000));
  }

  /** Never keeps the process alive. */
  #sleep(ms: number): Promise<void> {
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        timer.stop();
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = this.#desk.engine.clock.startTimer(wake, ms);
      timer.keepAlive(false);
      signal.addEventListener('abort', wake);
    });
  }
}

/** Nothing will come of a ledger that was closed. */
const isClosed = (error: unknown): boolean => {
  const cause = error instanceof LedgerTrouble ? error.cause : error;
  return isQuittanceError(cause) && cause.code === 'ledger.closed';
};
