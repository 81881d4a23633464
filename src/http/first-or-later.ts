/** Waits for the first of several things, for so long, and not for somebody who is gone. Leaves no timer behind. */
export async function firstOrLater(
  waits: readonly Promise<unknown>[],
  mostMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  let stop: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const timer = setTimeout(stop, mostMs);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([...waits, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
