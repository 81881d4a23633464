import type { Waiter } from 'quittance/internal/ledger/until-woken';
import { untilWoken } from 'quittance/internal/ledger/until-woken';

/**
 * A pending request to the runtime, shared by its waiters. A waiter that stops is removed. A worker may ask every second
 * about a call that takes a day, and a promise keeps every callback.
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
          for (const waiter of this.#waiters) waiter.resolve();
        },
        (error: unknown) => {
          this.#failure = { error };
          for (const waiter of this.#waiters) waiter.reject(error);
        },
      )
      .finally(onEnd)
      .catch(() => undefined); // neither fails
  }

  /** Resolves with the answer or when the signal is aborted. Rejects if there will be no answer. */
  async whenAnswered(signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.answer !== undefined) return;
    await untilWoken(this.#waiters, undefined, signal);
  }
}
