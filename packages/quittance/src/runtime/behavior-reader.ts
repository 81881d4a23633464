/**
 * Delivers events to one behavior, in the order they were stored.
 *
 * 1. The events that a handler emits are appended together with the new position: once, however often an
 *    event is delivered.
 * 2. One process at a time holds the position of a durable behavior. A process that loses it stops there.
 * 3. An event is delivered until it is handled or its failure is stored. A failing ledger only delays this.
 * 4. An event whose handler ended three processes in a row is no longer delivered: its failure is stored.
 * 5. An unreadable event is never skipped. The behavior stays before it; the host and waiting callers get the
 *    error.
 */
import { isQuittanceError } from '../base/error.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { Entry } from '../ledger/journal.ts';
import type { Feed, FeedEntry } from '../ledger/feed.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import { BacklogPace } from './engine.ts';
import type { Registration, AnyEvent, Delivery, Handled, HandlerHost } from './run-handler.ts';
import { callIdOf, failure, runHandler, turnOfEvent, behaviorSessionId } from './run-handler.ts';
import type { Timer, Clock } from '../base/deadlines.ts';
import type { Engine } from './engine.ts';
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { RedeliveryRequested } from '../call/events/retry-event.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  readCursor,
  takeCursor,
  moveCursor,
  lastPosition,
  whenAppended,
  statusOfOwner,
  releaseCursor,
} from '../ledger/reads.ts';

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
   * True until the first end is stored here: the event may have been delivered by the previous reader of the cursor.
   */
  #mayRepeat = false;
  /** Set while an event is delivered, until its end is stored. */
  #isDelivering = false;
  /** Failures in a row. */
  #trouble = 0;
  /** The error that stops the reader, once it was reported to the host. */
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
    // The handler did not stop when aborted. The next reader gets its event again.
    if (answer === 'left behind') await this.#release();
  }

  /**
   * Resolves when everything up to this position was delivered, here or by the process that holds the cursor.
   */
  async reached(position: number): Promise<void> {
    const { ledger, clock } = this.#host.engine;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const cursor = this.#cursor && (await readCursor(ledger, this.#registration.name));
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
        startAfter ??= this.#registration.from === 'start' ? 0 : await lastPosition(engine.ledger);
        await before;
        if (!(await this.#begin(startAfter))) break;
        await this.#read();
      } catch (error) {
        if (isClosed(error)) break;
        this.#opened.resolve();
        // The position is unchanged, so a retry loses nothing.
        await this.#noteTrouble(error);
        await pause(engine.clock, Math.min(longestTroubleMs, lookAgainMs * 2 ** this.#trouble++), signal);
      }
    this.#opened.resolve();
    await this.#release();
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
    // If the cursor was deleted, the reader continues from its current position.
    const position = await this.#cursor.take(
      this.#position ?? startAfter,
      this.#stop.signal,
      this.#opened.resolve,
    );
    if (position !== undefined) this.#wake(position);
    this.#mayRepeat ||= this.#cursor.tookOver || this.#isDelivering;
    return position !== undefined;
  }

  async #release(): Promise<void> {
    if (this.#position !== undefined) await this.#cursor?.release(this.#position, this.#isDelivering);
    this.#wakeWaiters();
  }

  /** Waiters check again the position and whether the reader is stuck. */
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
        await unlessAborted(whenAppended(engine.ledger, position, signal), signal);
        continue;
      }
      for (const entry of entries) {
        const rest = this.#pace.next();
        if (rest !== undefined) await rest;
        if (signal.aborted) return;
        if (!this.#concerns(entry)) this.#reach(entry.position);
        else if (!(await this.#deliverEntry(entry))) return;
      }
    }
  }

  /** True if the entry has an event type of this behavior. Other entries are not decoded. */
  #concerns({ types }: FeedEntry): boolean {
    const wanted = this.#registration.types;
    return types.some((type) => wanted.has(type) || type === 'retry.requested');
  }

  /** Returns false if it lost its position or has to stop. */
  async #deliverEntry(entry: FeedEntry): Promise<boolean> {
    const { signal } = this.#stop;
    const handled: Handled['events'][number][] = [];
    let wasDelivered = false;
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
          wasDelivered = true;
          handled.push(...answer);
        }
        // An aborted handler may not have done its work, so the next reader gets the event again.
        if (signal.aborted) return false;
      }
    }
    if (handled.length > 0) {
      if (!(await this.#keep(handled, entry))) return false;
    } else if (wasDelivered) this.#cursor?.note(entry.position);
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

  /** The failure of an event whose handler or filter repeatedly ended the process. */
  #giveUp(delivery: Delivery, ended: number): Handled['events'][number] {
    return {
      ...failure(this.#host.engine, this.#registration, delivery, undefined, false),
      reason: 'behavior.lost',
      message: `The process ended each of ${ended} times while this behavior handled the event, so it is not given the event again.`,
      payloadExtras: undefined,
    };
  }

  /** The failure of a chain that is too deep. It is deeper still, so no behavior gets it. */
  #tooDeep(delivery: Delivery): Handled['events'] {
    if (delivery.depth > deepestCause) return [];
    const failed = failure(this.#host.engine, this.#registration, delivery, undefined, false);
    return [
      {
        ...failed,
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
    const { status } = await engine.ledger.append(entry);
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

const restMs = 1_000;
/** The first of the three processes left no record, because the entry was not suspected yet. */
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

/**
 * The cursor of a durable behavior in the ledger.
 *
 * 1. Only the holder advances it. A reader that lost it learns so when it next advances the cursor.
 * 2. It advances in the commit that stores the emitted events. Without emitted events it advances soon: while the
 *    ledger writes one position, the next write covers everything read meanwhile. The position of entries that no
 *    handler got is stored within a second, because a write for each would slow down all calls.
 * 3. A handler may end its process. So a reader that takes the cursor over from a dead process records each entry before
 *    it delivers it. The holder's name then has the entry, and the number of processes that delivered it. An entry that
 *    ended three processes in a row is no longer delivered.
 */
class HeldCursor {
  readonly #engine: Engine;
  readonly #name: string;
  /**
   * Unique to this reader, so that a reader that has lost the cursor is not confused with the next one.
   */
  #holder: string;
  readonly #reader: string;
  /** How many more entries are recorded before delivery. */
  #suspects = 0;
  #suspicion: Suspicion | undefined;
  /** The stored position, and the position to store soon. */
  #kept = 0;
  #toKeep = 0;
  /** Pending while the ledger stores a position. */
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

  /** True if another reader holds the cursor. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** True if the last reader is known to have stopped in the middle of a delivery. */
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
      const known = await readCursor(ledger, name);
      const isGone =
        known?.holder !== undefined &&
        known.holder !== holder &&
        known.ownerId !== undefined &&
        (await statusOfOwner(ledger, known.ownerId)) === 'gone';
      const instead = isGone || isLeft(known?.holder) ? known?.holder : undefined;
      const cursor = await takeCursor(ledger, { name, holder, instead, startAfter });
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
    const cursor = await takeCursor(this.#engine.ledger, {
      name: this.#name,
      holder,
      instead: this.#holder,
      startAfter: position,
    });
    if (cursor.holder === holder) this.#holder = holder;
    else this.#isLost = true;
    return undefined;
  }

  /** The new position for an append. The cursor may not change otherwise until the append is answered. */
  async moveTo(to: number): Promise<NonNullable<Entry['cursor']>> {
    await this.#moving;
    return this.#move(to);
  }

  /** Call it once the append with the new position succeeded. */
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
  async release(position: number, isDelivering: boolean): Promise<void> {
    this.#rest?.stop();
    this.#rest = undefined;
    try {
      await this.keep(position);
      const { ledger } = this.#engine;
      const [name, instead] = [this.#name, this.#holder];
      if (isDelivering)
        await takeCursor(ledger, {
          name,
          holder: `${this.#reader}${leftMark}`,
          instead,
          startAfter: position,
        });
      else await releaseCursor(ledger, name, instead);
    } catch {
      // The next reader detects that this owner is gone.
    }
    this.#isLost = true;
  }

  async #keepUp(): Promise<void> {
    while (this.#kept < this.#toKeep && !this.#isLost) {
      const to = this.#toKeep;
      if (await moveCursor(this.#engine.ledger, this.#move(to))) this.#kept = to;
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

/** True if its holder stopped in the middle of a delivery and released the cursor. */
export const isLeft = (holder: string | undefined): boolean => holder?.endsWith(leftMark) === true;

function readSuspicion(holder: string): Suspicion | undefined {
  const [, position, times] = holder.split(separator).map(Number);
  return position === undefined || times === undefined ? undefined : { position, times };
}

/** Waits for a duration, or until the signal is aborted. Keeps the process alive only if `keepAlive` is set. */
function pause(clock: Clock, ms: number, signal: AbortSignal, keepAlive = false): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      timer.stop();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.startTimer(wake, ms);
    timer.keepAlive(keepAlive);
    signal.addEventListener('abort', wake);
  });
}

const longestPauseMs = 3_600_000;

/**
 * Waits until a time by the ledger's clock, but no longer than requested: that clock may have been set back.
 */
async function pauseUntil(
  { ledger, clock }: Engine,
  { notBefore, at }: { readonly notBefore: number | undefined; readonly at: number },
  signal: AbortSignal,
): Promise<void> {
  if (notBefore === undefined) return;
  const latest = clock.monotonicMs() + notBefore - at;
  while (!signal.aborted) {
    const leftMs = Math.min(notBefore - ledger.now(), latest - clock.monotonicMs());
    if (leftMs <= 0) return;
    await pause(clock, Math.min(leftMs, longestPauseMs), signal);
  }
}

/** Finds the event of a redelivery request. Undefined if it is gone, or if an earlier request named it. */
async function findAgain(ledger: Ledger, request: RedeliveryRequested): Promise<AnyEvent | undefined> {
  const others = await ledger.readSession(request.sessionId);
  const first = others.find((event) => isSameRequest(event, request));
  if (first !== undefined && first.id !== request.id) return undefined;
  const isIt = ({ id }: AnyEvent): boolean => id === request.forEvent;
  const found =
    others.find(isIt) ??
    // Events in the ledger's own chain are read by another query.
    (request.sessionId === behaviorSessionId
      ? (await ledger.readSession(ledgerSessionId)).find(isIt)
      : undefined);
  // A predicate of the host will read it. Events are JSON except for undefined.
  return found && (freezeJson(found as unknown as JsonObject) as unknown as AnyEvent);
}

const isSameRequest = (
  event: QuittanceEvent,
  { forEvent, behavior, attempt }: RedeliveryRequested,
): boolean =>
  event.type === 'retry.requested' &&
  'behavior' in event &&
  event.behavior === behavior &&
  event.forEvent === forEvent &&
  event.attempt === attempt;
