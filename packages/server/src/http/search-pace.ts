/**
 * Divides a search that no index answers into short steps, and ends it in time. The slower the last step was, the fewer
 * rows the next one examines. Other requests run between two steps.
 */

/** Rows per step. Few different numbers, so that a store prepares few statements. */
const steps = [250, 500, 1_000, 2_000, 4_000] as const;
const firstStep = 1;
/** A step that took longer is halved; one that took less than half of it is doubled. */
const stepMs = 8;

export class SearchPace {
  readonly #nowMs: () => number;
  readonly #endMs: number;
  #step: number = firstStep;
  #stepBeganMs: number;

  constructor(longestMs: number, nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#stepBeganMs = nowMs();
    this.#endMs = this.#stepBeganMs + longestMs;
  }

  /** Begins a step: the number of rows that it may examine. */
  begin(): number {
    this.#stepBeganMs = this.#nowMs();
    return steps[this.#step] ?? steps[firstStep];
  }

  /** Ends a step. True if there is time for another one. */
  end(): boolean {
    const nowMs = this.#nowMs();
    const tookMs = nowMs - this.#stepBeganMs;
    if (tookMs > stepMs) this.#step = Math.max(0, this.#step - 1);
    else if (tookMs < stepMs / 2) this.#step = Math.min(steps.length - 1, this.#step + 1);
    return nowMs < this.#endMs;
  }
}
