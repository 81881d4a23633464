/** Waits for a promise or for an abort. After an abort, the result of the promise is ignored. */
export const unlessAborted = (awaited: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const wake = (): void => resolve();
    void awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', wake));
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', wake, { once: true });
  });
