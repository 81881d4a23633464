/**
 * Many deadlines on one timer. A call that ends in time costs one object in a linked list instead of its own platform
 * timer. The timer keeps the process alive exactly while a caller waits for it.
 */
import type { Clock, Timer } from './clock.ts';

export interface Deadlines {
  /** Calls `alarm` once `delayMs` have passed, unless the returned watch is stopped or moved first. */
  watch(delayMs: number, alarm: Alarm): DeadlineWatch;
  /** The same for a time of the monotonic clock. */
  watchUntil(atMs: number, alarm: Alarm): DeadlineWatch;
}

/** An object instead of a function spares calls a function each. */
export type Alarm = (() => void) | { readonly onDeadline: () => void };

export interface DeadlineWatch {
  stop(): void;
  /** Sets the deadline to `delayMs` from now. */
  move(delayMs: number): void;
}

/**
 * `keepsAlive: false`: for deadlines that are also recorded for the next process. Other timers keep waiting callers
 * alive.
 */
export const createDeadlines = (
  clock: Clock,
  { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
): Deadlines => new WatchList(clock, keepsAlive);

class WatchList implements Deadlines {
  readonly clock: Clock;
  readonly #keepsAlive: boolean;
  #first: Watch | undefined;
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, keepsAlive: boolean) {
    this.clock = clock;
    this.#keepsAlive = keepsAlive;
  }

  watch(delayMs: number, alarm: Alarm): DeadlineWatch {
    return this.watchUntil(this.clock.monotonicMs() + delayMs, alarm);
  }

  watchUntil(atMs: number, alarm: Alarm): DeadlineWatch {
    const watch = new Watch(this, atMs, alarm);
    const wasEmpty = this.#first === undefined;
    watch.next = this.#first;
    if (this.#first !== undefined) this.#first.before = watch;
    this.#first = watch;
    if (watch.atMs < this.#timerAtMs) this.#arm(watch.atMs);
    else if (wasEmpty && this.#keepsAlive) this.#timer?.keepAlive(true);
    return watch;
  }

  /** The deadline of a watch has changed. */
  moved(watch: Watch): void {
    if (watch.atMs < this.#timerAtMs) this.#arm(watch.atMs);
  }

  remove(watch: Watch): void {
    this.#unlink(watch);
    if (this.#first === undefined) this.#timer?.keepAlive(false);
  }

  #unlink(watch: Watch): void {
    const { before, next } = watch;
    if (before === undefined) this.#first = next;
    else before.next = next;
    if (next !== undefined) next.before = before;
    watch.before = undefined;
    watch.next = undefined;
    watch.list = undefined;
  }

  #arm(atMs: number): void {
    this.#timer?.stop();
    this.#timerAtMs = atMs;
    this.#timer = this.clock.startTimer(() => this.#sweep(), Math.max(0, atMs - this.clock.monotonicMs()));
    if (!this.#keepsAlive) this.#timer.keepAlive(false);
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: Watch[] = [];
    for (let watch = this.#first; watch !== undefined; watch = watch.next) {
      if (watch.atMs <= nowMs) due.push(watch);
      else if (watch.atMs < nextMs) nextMs = watch.atMs;
    }
    for (const watch of due) this.#unlink(watch);
    if (nextMs !== Number.POSITIVE_INFINITY) this.#arm(nextMs);
    // The newest watch is first in the list; the oldest fires first.
    for (const watch of due.reverse()) watch.fire();
  }
}

/** One deadline in the list. */
class Watch implements DeadlineWatch {
  /** Undefined once it has fired or was stopped. */
  list: WatchList | undefined;
  atMs: number;
  readonly #alarm: Alarm;
  before: Watch | undefined;
  next: Watch | undefined;

  constructor(list: WatchList, atMs: number, alarm: Alarm) {
    this.list = list;
    this.atMs = atMs;
    this.#alarm = alarm;
  }

  fire(): void {
    if (typeof this.#alarm === 'function') this.#alarm();
    else this.#alarm.onDeadline();
  }

  stop(): void {
    this.list?.remove(this);
  }

  move(delayMs: number): void {
    if (this.list === undefined) return;
    this.atMs = this.list.clock.monotonicMs() + delayMs;
    this.list.moved(this);
  }
}
