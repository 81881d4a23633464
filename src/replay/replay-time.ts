import type { Clock } from '../base/clock.ts';
import type { ToolContext } from '../tool/tool-context.ts';

/** A clock that somebody moves by hand: recorded time passes on it without anybody waiting. */
export interface MovableClock extends Clock {
  advance(ms: number): void;
}

type Waiting = {
  readonly elapsedMs: number;
  readonly untilMs: number;
  readonly idleMs: number | undefined;
  readonly context: ToolContext;
};

/** A clock that does not come to a deadline in so many steps is not that of the runtime. */
const mostSteps = 100_000;
const laterMs = 1_000;

/** Lets the time of recorded timeouts pass, for bodies that run side by side all at once. */
export class ReplayTime {
  readonly #clock: MovableClock;
  #waiting: Waiting[] = [];

  constructor(clock: MovableClock) {
    this.#clock = clock;
  }

  /** Moves the clock until the attempt has run out of time, once everything that runs beside it has begun. */
  runOut(elapsedMs: number, context: ToolContext, idleMs: number | undefined): void {
    this.#waiting.push({ elapsedMs, untilMs: this.#clock.monotonicMs() + elapsedMs, idleMs, context });
    if (this.#waiting.length === 1) setImmediate(() => this.#pass());
  }

  #pass(): void {
    const waiting = this.#waiting.toSorted((one, other) => one.untilMs - other.untilMs);
    this.#waiting = [];
    for (const each of waiting) this.#passFor(each);
  }

  #passFor({ elapsedMs, untilMs, idleMs, context }: Waiting): void {
    for (let step = 0; step < mostSteps && !context.signal.aborted; step++) {
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (idleMs !== undefined && leftMs > idleMs) {
        // It was silent for too long only at its end.
        this.#clock.advance(Math.min(idleMs / 2, leftMs - idleMs));
        context.progress();
      }
      // Its deadline may be a later one by now.
      else this.#clock.advance(leftMs > 0 ? leftMs : Math.max(elapsedMs, laterMs));
    }
  }
}
