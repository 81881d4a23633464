/**
 * Spreads the starts of many calls over several turns of the event loop, if they are made at once. Otherwise timers and
 * sockets would wait until all of them have passed their gates.
 *
 * Calls that start one after the other pay nothing: the count begins again with each answer of the ledger. Waiting calls
 * start in the order in which they were made.
 */

/** As many as the ledger writes with one flush. Measured: the starts of 256 took about 9 ms. */
const mostAtOnce = 64;

export class StartPace {
  /** Starts since the last answer of the ledger. */
  #unanswered = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the call may start. Undefined if it may start at once. */
  untilTurn(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#unanswered < mostAtOnce) {
      this.#unanswered++;
      return undefined;
    }
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#startNext);
    });
  }

  /** The ledger has answered an append. */
  noteAnswer(): void {
    this.#unanswered = 0;
  }

  readonly #startNext = (): void => {
    const due = this.#waiting.splice(0, mostAtOnce);
    if (this.#waiting.length > 0) setImmediate(this.#startNext);
    for (const start of due) start();
  };
}
