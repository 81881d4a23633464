/**
 * Lets the event loop run while a reader works through old entries. A ledger may answer each read without a wait. Timers
 * and sockets would then get no turn until the reader has read all entries.
 */

/** Reading 64 entries takes a few milliseconds. */
const mostAtOnce = 64;

export class BacklogPace {
  #entries = 0;

  /** Counts an entry. Resolves when the reader may continue; undefined if it may at once. */
  next(): Promise<void> | undefined {
    if (++this.#entries % mostAtOnce !== 0) return undefined;
    return new Promise((resolve) => setImmediate(resolve));
  }
}
