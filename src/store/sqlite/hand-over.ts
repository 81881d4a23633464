/**
 * Decides which thread writes. A batch costs the writer thread two wake-ups more than the main thread. Its entries
 * must also be encoded for the thread, and both threads note them. So the main thread is faster for up to a few dozen
 * calls in flight. Under more load, or on a slow disk, it has better things to do than to wait for a flush.
 *
 * The writer thread takes over at once, and gives back only after many small and quick batches in a row. So a load
 * near the limit does not make the threads take turns, which would make each read what the other wrote. A few batches
 * with hardly any appends are enough. Such a load is far from the limit, and each of its calls waits for the thread.
 */

/** Measured: with 32 calls in flight the main thread alone makes a third more calls, with 256 the writer thread helps. */
const manyJobs = 64;
/** On average. */
const largeBatch = 48;
const smallBatch = 36;
const slowMs = 2;
const quickMs = 1;
/** A longer batch counts as this long: now and then one also writes the index. */
const longestMs = 6;
const batchesInARow = 64;
/** A batch of so few appends counts as several small ones. */
const fewJobs = 4;
const weightOfFew = 8;
/** Weight of the newest batch in an average. */
const newest = 0.2;

export class HandOver {
  #jobs = 0;
  #ms = 0;
  #small = 0;
  #isWanted = false;

  /** Is the writer thread wanted for a batch of this size? */
  isWanted(waiting: number): boolean {
    if (waiting >= manyJobs) {
      this.#isWanted = true;
      this.#small = 0;
    }
    return this.#isWanted;
  }

  /** Either thread has committed a batch. */
  note(jobs: number, tookMs: number): void {
    this.#jobs += (jobs - this.#jobs) * newest;
    this.#ms += (Math.min(tookMs, longestMs) - this.#ms) * newest;
    if (this.#jobs >= largeBatch || this.#ms >= slowMs) {
      this.#isWanted = true;
      this.#small = 0;
      return;
    }
    const isSmall = this.#jobs < smallBatch && this.#ms < quickMs;
    this.#small = isSmall ? this.#small + (jobs <= fewJobs ? weightOfFew : 1) : 0;
    if (this.#small >= batchesInARow) this.#isWanted = false;
  }
}
