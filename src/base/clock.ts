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
