import type { Clock } from '../base/deadlines.ts';
import type { ToolContext } from '../tool/tool-context.ts';

/** A clock that code can move: recorded time passes on it without waiting. */
export interface MovableClock extends Clock {
  advance(ms: number): void;
}

type Waiting = {
  readonly elapsedMs: number;
  readonly untilMs: number;
  readonly idleMs: number | undefined;
  readonly context: ToolContext;
};

/** A clock that does not reach a deadline in this many steps is not the runtime's. */
const mostSteps = 100_000;
const laterMs = 1_000;

/** Lets recorded timeouts pass, at once for parallel calls. */
export class ReplayTime {
  readonly #clock: MovableClock;
  #waiting: Waiting[] = [];

  constructor(clock: MovableClock) {
    this.#clock = clock;
  }

  /** Moves the clock past the attempt's deadline, after all parallel calls have started. */
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
        // The tool was silent only at its end.
        this.#clock.advance(Math.min(idleMs / 2, leftMs - idleMs));
        context.progress();
      }
      // Its deadline may be later now.
      else this.#clock.advance(leftMs > 0 ? leftMs : Math.max(elapsedMs, laterMs));
    }
  }
}
