/** A caller that waits for a change of a store. */
export type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };

/**
 * Waits until a store wakes the waiter, or until the signal aborts. Then the waiter is removed: otherwise a server
 * with many short-lived clients would keep one waiter for each of them while nothing happens.
 */
export function untilWoken(join: (waiter: Waiter) => () => void, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      leave();
      resolve();
    };
    const stopHearing = (): void => signal?.removeEventListener('abort', giveUp);
    const leave = join({
      resolve: () => {
        stopHearing();
        resolve();
      },
      reject: (error) => {
        stopHearing();
        reject(error as Error);
      },
    });
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
