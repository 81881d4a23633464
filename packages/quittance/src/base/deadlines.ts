/**
 * Many deadlines on one timer. A call that ends in time costs one object in a linked list instead of its own platform
 * timer. The timer keeps the process alive exactly while a caller waits for it.
 */
import type { Awaitable } from './json.ts';

export interface Deadlines {
  /** Calls `alarm` once `delayMs` have passed, unless the returned watch is stopped or moved first. */
  watch(delayMs: number, alarm: Alarm): DeadlineWatch;
  /** The same for a time of the monotonic clock. */
  watchUntil(atMs: number, alarm: Alarm): DeadlineWatch;
  /** Keeps the process alive until this promise settles. */
  stayAwakeUntil(settled: Promise<unknown>): void;
}

/** An object instead of a function spares calls a function each. */
type Alarm = (() => void) | { readonly onDeadline: () => void };

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
  /** How many promises keep the process alive, and the watch that does so for all of them. */
  #awake = 0;
  #wakeful: DeadlineWatch | undefined;

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

  stayAwakeUntil(settled: Promise<unknown>): void {
    if (this.#awake++ === 0) this.#stayAwake();
    void settled.then(this.#rest, this.#rest);
  }

  readonly #stayAwake = (): void => {
    this.#wakeful = this.watch(longestDelayMs, this.#stayAwake);
  };

  readonly #rest = (): void => {
    if (--this.#awake === 0) this.#wakeful?.stop();
  };

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

/** The port for time: wall time for people, a monotonic clock for timeouts (it never jumps), and timers. */
export interface Clock {
  /** Milliseconds since 1970, UTC. May jump. */
  now(): number;
  /** Milliseconds since some fixed moment. Never goes back. */
  monotonicMs(): number;
  /** Calls `fire` once, `delayMs` from now by the monotonic clock. */
  startTimer(fire: () => void, delayMs: number): Timer;
}

export interface Timer {
  stop(): void;
  /** Sets whether this timer keeps the process alive. Default: true. */
  keepAlive(keep: boolean): void;
}

/** Longer delays overflow the platform's timer and would fire at once. */
const longestDelayMs = 2_147_483_647;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer(fire, delayMs) {
    let timeout = setTimeout(fire, Math.min(Math.max(delayMs, 0), longestDelayMs));
    return {
      stop: () => clearTimeout(timeout),
      keepAlive: (keep) => {
        timeout = keep ? timeout.ref() : timeout.unref();
      },
    };
  },
};

/** The last moment a date can name, in milliseconds since 1970. */
export const latestInstant = 8_640_000_000_000_000;

/** A time for people to read. A time beyond the calendar is shown as a number. */
export const timeText = (at: number): string =>
  at > latestInstant ? String(at) : new Date(at).toISOString();

/** The value, or `otherwise` if it does not come in time. Synchronous work cannot be interrupted. */
export async function within<Value, Other>(
  { deadlines }: { readonly deadlines: Deadlines },
  ms: number,
  value: Awaitable<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  if (!isPromiseLike(value)) return value;
  const tooLong = Promise.withResolvers<Other>();
  const watch = deadlines.watch(Math.max(0, ms), () => tooLong.resolve(otherwise));
  // After a timeout, a later rejection is ignored.
  const given = Promise.resolve(value);
  given.catch(() => undefined);
  try {
    return await Promise.race([given, tooLong.promise]);
  } finally {
    watch.stop();
  }
}

/** True for anything `await` would wait for. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

/**
 * Continues with a value: synchronously if it is available, later if it is a promise. So a call whose schema answers
 * synchronously does not wait.
 */
export function whenReady<Value, Next>(
  value: Awaitable<Value>,
  onReady: (value: Value) => Awaitable<Next>,
  onFailed?: (cause: unknown) => Awaitable<Next>,
): Awaitable<Next> {
  return isPromiseLike(value) ? value.then(onReady, onFailed) : onReady(value);
}
