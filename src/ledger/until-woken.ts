/** Somebody who waits for news of a store. */
export type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };

/**
 * Waits among others until a store wakes whoever joined, or until there is no need to. Then nothing is left of the wait:
 * a server on which people come and go would otherwise keep something of each of them for as long as nothing happens.
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
