/**
 * A caller that waits for a change of a store. Thousands may wait for days, so a waiter is one object: it hears the abort of
 * its signal itself.
 */
export class Waiter<Awaited = undefined> {
  readonly awaited: Awaited;
  readonly #among: Waiters<Awaited>;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    among: Waiters<Awaited>,
    awaited: Awaited,
    signal: AbortSignal | undefined,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.awaited = awaited;
    this.#among = among;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    among.add(this);
    signal?.addEventListener('abort', this, { once: true });
  }

  resolve(): void {
    this.#signal?.removeEventListener('abort', this);
    this.#resolve();
  }

  reject(error: unknown): void {
    this.#signal?.removeEventListener('abort', this);
    this.#reject(error);
  }

  /** The signal aborts. */
  handleEvent(): void {
    this.#among.delete(this);
    this.#resolve();
  }
}

/** The waiters of a store. A `Set` is one. */
export interface Waiters<Awaited> {
  add(waiter: Waiter<Awaited>): unknown;
  delete(waiter: Waiter<Awaited>): unknown;
}

/**
 * Waits until a store wakes the waiter, or until the signal aborts. Then the waiter is removed. Otherwise a server with many
 * short-lived clients would keep one waiter for each of them until the next change.
 */
export const untilWoken = <Awaited>(
  among: Waiters<Awaited>,
  awaited: Awaited,
  signal?: AbortSignal,
): Promise<void> =>
  signal?.aborted === true
    ? Promise.resolve()
    : new Promise((resolve, reject) => void new Waiter(among, awaited, signal, resolve, reject));
