/**
 * Waits for the first of several promises, up to a time, and stops if the client disconnects. It leaves no timer behind,
 * and its signal ends the other waits.
 */
export async function firstOrLater(
  waitsFor: (signal: AbortSignal) => readonly Promise<unknown>[],
  mostMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  let stop: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const waiting = new AbortController();
  const timer = setTimeout(stop, mostMs);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([...waitsFor(waiting.signal), over]);
  } finally {
    waiting.abort();
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
