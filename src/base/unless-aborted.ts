/** Waits for something, or until there is no need to. What comes of it afterwards is heard by nobody. */
export const unlessAborted = (awaited: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const wake = (): void => resolve();
    void awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', wake));
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', wake, { once: true });
  });
