import type { Waiter } from '../ledger/until-woken.ts';
import { untilWoken } from '../ledger/until-woken.ts';

/**
 * A question to the runtime that is under way, for as many as wait for its answer. Whoever stops waiting leaves nothing
 * behind: a worker may ask every second for a call that takes a day, and a promise keeps all that was ever hung on it.
 */
export class Asking<Answer> {
  answer: Answer | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #waiters = new Set<Waiter>();

  constructor(asked: Promise<Answer>, onEnd: () => void) {
    asked
      .then(
        (answer) => {
          this.answer = answer;
          for (const { resolve } of this.#waiters) resolve();
        },
        (error: unknown) => {
          this.#failure = { error };
          for (const { reject } of this.#waiters) reject(error);
        },
      )
      .finally(onEnd)
      .catch(() => undefined); // neither fails
  }

  /** Resolves once there is an answer, or the signal is aborted; rejects where there will be none. */
  async whenAnswered(signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.answer !== undefined) return;
    await untilWoken((waiter) => {
      this.#waiters.add(waiter);
      return () => this.#waiters.delete(waiter);
    }, signal);
  }
}
