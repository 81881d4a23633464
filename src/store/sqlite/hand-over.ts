/**
 * Decides which thread writes. A batch costs the writer thread two wake-ups more than the main thread, so a single
 * call is fastest if the main thread writes it. Under load, or on a slow disk, the main thread has better things to do
 * than to wait for a flush.
 *
 * The writer thread takes over at once, and gives back only after many small and quick batches in a row. So a load
 * near the limit does not make the threads take turns, which would make each read what the other wrote.
 */

/** A batch of this size goes to the thread, as do batches of half this size on average. */
const manyJobs = 16;
const fewJobs = 3;
const slowMs = 2;
const quickMs = 1;
const batchesInARow = 64;
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
    this.#ms += (tookMs - this.#ms) * newest;
    if (this.#jobs >= manyJobs / 2 || this.#ms >= slowMs) {
      this.#isWanted = true;
      this.#small = 0;
      return;
    }
    this.#small = this.#jobs < fewJobs && this.#ms < quickMs ? this.#small + 1 : 0;
    if (this.#small >= batchesInARow) this.#isWanted = false;
  }
}
