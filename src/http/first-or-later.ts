/**
 * Waits for the first of several things, for so long, and not for somebody who is gone. Leaves nothing behind: neither a
 * timer nor, with the signal they are given, those waits that were in vain.
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
