import { isBusy } from './database.ts';

/** Retries without blocking the process, while another process holds the lock. */
export async function whenFree<Result>(attempt: () => Result, patienceMs = 10_000): Promise<Result> {
  const untilMs = performance.now() + patienceMs;
  for (let tries = 0; ; tries++)
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > untilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoffMs(tries)));
    }
}

/**
 * Waits for a lock that other processes hold again and again, e.g. while they fill the read tables. Resolves to false
 * when `progress` has not moved for a long time: the process that has the lock is stopped or paused.
 */
export class LockWait {
  readonly #patienceMs: number;
  #tries = 0;
  #progress = Number.NaN;
  #sinceMs = 0;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  async again(progress: number): Promise<boolean> {
    if (progress !== this.#progress) {
      [this.#progress, this.#sinceMs, this.#tries] = [progress, performance.now(), 0];
    }
    if (performance.now() - this.#sinceMs > this.#patienceMs) return false;
    await new Promise((resolve) => setTimeout(resolve, backoffMs(this.#tries++)));
    return true;
  }
}

/** Short, because locks are held for about a millisecond. Grows slowly, and differs between waiting processes. */
export const backoffMs = (tries: number): number => 0.5 + Math.random() * Math.min(1 + tries / 4, 4);
