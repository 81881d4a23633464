/**
 * Many deadlines on one timer. A call that ends in time costs a set insertion and a deletion instead of its own
 * platform timer. The timer keeps the process alive exactly while a caller waits for it.
 */
import type { Clock, Timer } from './clock.ts';

export interface Deadlines {
  /** Calls `fire` once `delayMs` have passed, unless the returned watch is stopped or moved first. */
  watch(delayMs: number, fire: () => void): DeadlineWatch;
}

export interface DeadlineWatch {
  stop(): void;
  /** Sets the deadline to `delayMs` from now. */
  move(delayMs: number): void;
}

/**
 * `keepsAlive: false`: for deadlines that are also recorded for the next process. Other timers keep waiting callers
 * alive.
 */
export function createDeadlines(
  clock: Clock,
  { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
): Deadlines {
  const waiting = new Set<DeadlineWatch>();
  let timer: Timer | undefined;
  let timerAtMs = Number.POSITIVE_INFINITY;

  const arm = (atMs: number): void => {
    timer?.stop();
    timerAtMs = atMs;
    timer = clock.startTimer(sweep, Math.max(0, atMs - clock.monotonicMs()));
    if (!keepsAlive) timer.keepAlive(false);
  };

  const sweep = (): void => {
    timer = undefined;
    timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: DeadlineWatch[] = [];
    for (const watch of waiting) {
      if (watch.atMs <= nowMs) due.push(watch);
      else if (watch.atMs < nextMs) nextMs = watch.atMs;
    }
    for (const watch of due) waiting.delete(watch);
    if (nextMs !== Number.POSITIVE_INFINITY) arm(nextMs);
    for (const watch of due) watch.fire();
  };

  class DeadlineWatch implements DeadlineWatch {
    atMs: number;
    readonly fire: () => void;

    constructor(atMs: number, fire: () => void) {
      this.atMs = atMs;
      this.fire = fire;
    }

    stop(): void {
      if (waiting.delete(this) && waiting.size === 0) timer?.keepAlive(false);
    }

    move(delayMs: number): void {
      if (!waiting.has(this)) return;
      this.atMs = clock.monotonicMs() + delayMs;
      if (this.atMs < timerAtMs) arm(this.atMs);
    }
  }

  return {
    watch(delayMs, fire) {
      const watch = new DeadlineWatch(clock.monotonicMs() + delayMs, fire);
      waiting.add(watch);
      if (watch.atMs < timerAtMs) arm(watch.atMs);
      else if (waiting.size === 1 && keepsAlive) timer?.keepAlive(true);
      return watch;
    },
  };
}
