import type { Clock } from '../base/deadlines.ts';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves both clocks forward and fires due timers on the way, in order. */
  advance(ms: number): void;
  /** Sets the wall clock only, as an administrator would. */
  jumpTo(epochMs: number): void;
}

type ManualTimer = { readonly atMs: number; readonly fire: () => void };

export function createManualClock(startMs = 1_700_000_000_000): ManualClock {
  let wallMs = startMs;
  let monotonicMs = 0;
  const timers = new Set<ManualTimer>();

  const nextDue = (untilMs: number): ManualTimer | undefined => {
    let next: ManualTimer | undefined;
    for (const timer of timers)
      if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    return next;
  };

  return {
    now: () => wallMs,
    monotonicMs: () => monotonicMs,
    startTimer(fire, delayMs) {
      const timer: ManualTimer = { atMs: monotonicMs + Math.max(0, delayMs), fire };
      timers.add(timer);
      return { stop: () => timers.delete(timer), keepAlive: () => {} };
    },
    advance(ms) {
      const untilMs = monotonicMs + ms;
      for (let timer = nextDue(untilMs); timer !== undefined; timer = nextDue(untilMs)) {
        timers.delete(timer);
        wallMs += timer.atMs - monotonicMs;
        monotonicMs = timer.atMs;
        timer.fire();
      }
      wallMs += untilMs - monotonicMs;
      monotonicMs = untilMs;
    },
    jumpTo(epochMs) {
      wallMs = epochMs;
    },
  };
}
