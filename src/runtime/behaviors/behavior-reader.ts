/**
 * Delivers events to one behavior, in the order they were stored.
 *
 * 1. The events that a handler emits are appended together with the new position: once, however often an
 *    event is delivered.
 * 2. One process at a time holds the position of a durable behavior. A process that loses it stops there.
 * 3. An event is delivered until it was handled or its failure is stored. A failing ledger only delays this.
 * 4. An event whose handler ended three processes in a row is no longer delivered: its failure is stored.
 * 5. An unreadable event is never skipped. The behavior stays before it; the host and waiting callers get the
 *    error.
 */
import { isQuittanceError } from '../../base/error.ts';
import { isEmittedEvent } from '../../call/emitted-event.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import type { Entry } from '../../ledger/journal.ts';
import type { Feed, FeedEntry } from '../../ledger/feed.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { unlessAborted } from '../../base/unless-aborted.ts';
import { BacklogPace } from '../state/backlog-pace.ts';
import { findAgain } from './find-again.ts';
import { HeldCursor } from './held-cursor.ts';
import { pause, pauseUntil } from './pause.ts';
import type { Registration } from './registration.ts';
import type { AnyEvent, Delivery, Handled, HandlerHost } from './run-handler.ts';
import { callIdOf, failure, turnOfEvent, runHandler } from './run-handler.ts';

/** How many behaviors may trigger each other in a row. */
export const deepestCause = 32;

const batchSize = 256;
const lookAgainMs = 1_000;
const longestTroubleMs = 30_000;
/** Failures of the ledger in a row before the host gets a report: about half a minute. */
const triesBeforeReport = 5;

export class BehaviorReader {
  readonly #host: HandlerHost;
  readonly #feed: Feed;
  readonly #registration: Registration;
  readonly #stop = new AbortController();
  readonly #pace = new BacklogPace();
  /** Set for a durable behavior. */
  readonly #cursor: HeldCursor | undefined;
  /** The last position delivered here. Undefined until something was read. */
  #position: number | undefined;
  /**
   * Until the first end is stored here, an event may be the one that the last reader of the cursor was at.
   */
  #mayRepeat = false;
  /** Set while an event is delivered, until its end is stored. */
  #isDelivering = false;
  /** Failures in a row. */
  #trouble = 0;
  /** The error that stops it, once the host has the report. */
  #stuck: unknown;
  readonly #opened = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #waiters: { readonly position: number; readonly resolve: () => void }[] = [];

  constructor(host: HandlerHost, feed: Feed, registration: Registration) {
    this.#host = host;
    this.#feed = feed;
    this.#registration = registration;
    this.#cursor =
      registration.kind === 'durable' ? new HeldCursor(host.engine, registration.name) : undefined;
  }

  /** Resolves once a position is stored. Also if the ledger fails: a failing ledger must not block calls here. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /**
   * Starts reading, once the previous reader of the name has stopped. A name without a position starts with
   * the next event.
   */
  start(before: Promise<void> | undefined): void {
    this.#running = this.#run(before);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new DOMException('The runtime is closing.', 'AbortError'));
    const { deadlines, cancelGraceMs } = this.#host.engine;
    const longEnough = Promise.withResolvers<'left behind'>();
    const watch = deadlines.watch(cancelGraceMs, () => longEnough.resolve('left behind'));
    const answer = await Promise.race([this.#running, longEnough.promise]);
    watch.stop();
    // A handler that does not stop when aborted: the next reader gets its event again.
    if (answer === 'left behind') await this.#letGo();
  }

  /**
   * Resolves when everything up to this position was delivered, here or by the process that holds the cursor.
   */
  async reached(position: number): Promise<void> {
    const { ledger, clock } = this.#host.engine;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const cursor = this.#cursor && (await ledger.cursors.read(this.#registration.name));
      if (cursor !== undefined && cursor.position >= position) return;
      if (this.#position !== undefined && this.#position >= position) return;
      if (this.#stuck !== undefined) throw this.#stuck;
      // A waiting caller keeps the process alive, and is one of the waiters to notify.
      const reply = Promise.withResolvers<void>();
      const waiter = { position, resolve: reply.resolve };
      this.#waiters.push(waiter);
      await Promise.race([reply.promise, pause(clock, 25, signal, true)]);
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
    }
  }

  async #run(before: Promise<void> | undefined): Promise<void> {
    const { engine } = this.#host;
    const { signal } = this.#stop;
    let startAfter: number | undefined;
    while (!signal.aborted)
      try {
        // Read at once, so that events stored from now on are delivered even if the first read takes a while.
        startAfter ??= this.#registration.from === 'start' ? 0 : await engine.ledger.entries.lastPosition();
        await before;
        if (!(await this.#begin(startAfter))) break;
        await this.#read();
      } catch (error) {
        if (isClosed(error)) break;
        this.#opened.resolve();
        // Nothing is lost by trying again: the position has not moved.
        await this.#noteTrouble(error);
        await pause(engine.clock, Math.min(longestTroubleMs, lookAgainMs * 2 ** this.#trouble++), signal);
      }
    this.#opened.resolve();
    await this.#letGo();
  }

  /**
   * Reports the problem to the host, once for each cause. A list of behaviors shows the position before it.
   */
  async #noteTrouble(error: unknown): Promise<void> {
    const cause = error instanceof LedgerTrouble ? error.cause : error;
    const isDamage = isQuittanceError(cause, 'ledger.damaged') || isQuittanceError(cause, 'ledger.newer');
    if (!isDamage && this.#trouble + 1 < triesBeforeReport) return;
    const { name } = this.#registration;
    const position = this.#position ?? 0;
    if (isDamage) await this.#cursor?.keep(position).catch(() => undefined);
    const why = error instanceof Error ? error.message : String(error);
    const known = this.#stuck instanceof Error ? this.#stuck.message : undefined;
    this.#stuck = cause;
    this.#wakeWaiters();
    if (known === why) return;
    const message = `Behavior "${name}" is stuck after position ${position} and receives no later events: ${why}`;
    try {
      this.#host.engine.onTrouble({
        type: 'behavior.stuck',
        behavior: name,
        position,
        message,
        error: this.#stuck,
      });
    } catch {
      // An error in the listener does not stop the behavior.
    }
  }

  /** Determines the position to continue from. Returns false once it has to stop. */
  async #begin(startAfter: number): Promise<boolean> {
    if (this.#cursor === undefined) {
      this.#opened.resolve();
      this.#wake(this.#position ?? startAfter);
      return true;
    }
    // If its cursor was deleted meanwhile, it continues from its current position.
    const position = await this.#cursor.take(
      this.#position ?? startAfter,
      this.#stop.signal,
      this.#opened.resolve,
    );
    if (position !== undefined) this.#wake(position);
    this.#mayRepeat ||= this.#cursor.tookOver || this.#isDelivering;
    return position !== undefined;
  }

  async #letGo(): Promise<void> {
    if (this.#position !== undefined) await this.#cursor?.letGo(this.#position, this.#isDelivering);
    this.#wakeWaiters();
  }

  /** Waiters look again: at the position, and whether the reader is stuck. */
  #wakeWaiters(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  /** Reads until it has to stop or has lost its position. */
  async #read(): Promise<void> {
    const { engine } = this.#host;
    const feed = this.#feed;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const position = this.#position ?? 0;
      const entries = await feed.read(position, batchSize);
      if (entries.length === 0) {
        await this.#cursor?.rest(position);
        if (this.#cursor?.isLost === true) return;
        await unlessAborted(engine.ledger.entries.whenAppended(position, signal), signal);
        continue;
      }
      for (const entry of entries) {
        const rest = this.#pace.next();
        if (rest !== undefined) await rest;
        if (signal.aborted) return;
        if (!this.#concerns(entry)) this.#reach(entry.position);
        else if (!(await this.#hear(entry))) return;
      }
    }
  }

  /** Most entries concern few behaviors. The others do not even have their events decoded. */
  #concerns({ types }: FeedEntry): boolean {
    const wanted = this.#registration.types;
    return types.some((type) => wanted.has(type) || type === 'retry.requested');
  }

  /** Returns false if it lost its position or has to stop. */
  async #hear(entry: FeedEntry): Promise<boolean> {
    const { signal } = this.#stop;
    const handled: Handled['events'][number][] = [];
    let heard = false;
    let isLookedAt = false;
    let ended: number | undefined;
    for (const event of entry.events) {
      // Handlers of this version cannot use event types of a newer one.
      if (!isKnownEvent(event) && !isEmittedEvent(event)) continue;
      for (const delivery of await this.#deliveriesOf(event, entry.depth)) {
        // A redelivery may not be due yet when the wait is aborted.
        if (signal.aborted) return false;
        if (!isLookedAt) ended = await this.#cursor?.poisonedBy(entry.position);
        isLookedAt = true;
        if (this.#cursor?.isLost === true) return false;
        this.#isDelivering = true;
        const answer = ended === undefined ? await this.#deliver(delivery) : [this.#giveUp(delivery, ended)];
        if (answer !== undefined) {
          heard = true;
          handled.push(...answer);
        }
        // An aborted handler may not have done its work, so the next reader gets the event again.
        if (signal.aborted) return false;
      }
    }
    if (handled.length > 0) {
      if (!(await this.#keep(handled, entry))) return false;
    } else if (heard) this.#cursor?.note(entry.position);
    this.#isDelivering = false;
    this.#reach(entry.position);
    return true;
  }

  /** Usually empty: the event has another type, or does not match. */
  async #deliveriesOf(event: AnyEvent, depth: number): Promise<readonly Delivery[]> {
    const { name, types } = this.#registration;
    const deliveries: Delivery[] = [];
    if (event.type === 'retry.requested' && 'behavior' in event && event.behavior === name) {
      const { engine } = this.#host;
      const again = await findAgain(engine.ledger, event);
      if (again !== undefined) {
        await pauseUntil(engine, event, this.#stop.signal);
        deliveries.push({ event: again, depth, attempt: event.attempt, mayRepeat: true });
      }
    }
    if (types.has(event.type)) deliveries.push({ event, depth, attempt: 1, mayRepeat: this.#mayRepeat });
    return deliveries;
  }

  /** Undefined if the filter of the behavior leaves the event out. */
  async #deliver(delivery: Delivery): Promise<Handled['events'] | undefined> {
    const { engine } = this.#host;
    const registration = this.#registration;
    try {
      if (!registration.matches(delivery.event)) return undefined;
    } catch (error) {
      return [failure(engine, registration, delivery, error, false)];
    }
    if (delivery.depth >= deepestCause) return this.#tooDeep(delivery);
    return (await runHandler(this.#host, registration, delivery, this.#stop.signal)).events;
  }

  /** The handler or its filter keeps ending the process, so it no longer gets the event. */
  #giveUp(delivery: Delivery, ended: number): Handled['events'][number] {
    return {
      ...failure(this.#host.engine, this.#registration, delivery, undefined, false),
      reason: 'behavior.lost',
      message: `The process ended each of ${ended} times while this behavior handled the event, so it is not given the event again.`,
      payloadExtras: undefined,
    };
  }

  /** Emitted once: the failure itself is deeper still, so no behavior gets it. */
  #tooDeep(delivery: Delivery): Handled['events'] {
    if (delivery.depth > deepestCause) return [];
    const said = failure(this.#host.engine, this.#registration, delivery, undefined, false);
    return [
      {
        ...said,
        reason: 'behavior.depth',
        message: `${deepestCause} behaviors have set each other off in a row, so this one was not run. Look at the trace for the circle.`,
        payloadExtras: undefined,
      },
    ];
  }

  /** Appends the emitted events with the position. Returns false if another process holds it. */
  async #keep(events: Handled['events'], { position, depth }: FeedEntry): Promise<boolean> {
    const { engine } = this.#host;
    const [first] = events;
    if (first === undefined) return true;
    const entry: Entry = {
      entryId: engine.ids.next('ent'),
      sessionId: turnOfEvent(first).sessionId,
      callId: events.map(callIdOf).find((callId) => callId !== undefined),
      expectedVersion: 'any',
      events,
      depth: depth + 1,
      ...(this.#cursor !== undefined && { cursor: await this.#cursor.moveTo(position) }),
    };
    const { status } = await engine.ledger.journal.append(entry);
    if (status === 'appended') {
      this.#cursor?.moved(position);
      this.#mayRepeat = false;
    }
    // The call was removed while its event was handled, so events about it are dropped.
    else if (status === 'conflict') this.#cursor?.note(position);
    else return false;
    return true;
  }

  #reach(position: number): void {
    this.#trouble = 0;
    this.#stuck = undefined;
    this.#wake(position);
  }

  /** Advances the position and notifies the waiters. */
  #wake(position: number): void {
    this.#position = position;
    if (this.#waiters.length === 0) return;
    for (const waiter of this.#waiters.filter((one) => one.position <= position)) waiter.resolve();
    this.#waiters = this.#waiters.filter((one) => one.position > position);
  }
}

/** A closed ledger never recovers. */
const isClosed = (error: unknown): boolean => {
  const cause = error instanceof LedgerTrouble ? error.cause : error;
  return isQuittanceError(cause) && cause.code === 'ledger.closed';
};
