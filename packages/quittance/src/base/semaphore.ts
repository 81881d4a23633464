/**
 * Limits concurrency: each caller gets a place, in the order of requests, and releases it by calling the returned
 * function.
 */
export function createSemaphore(count: number): () => Promise<() => void> {
  let free = count;
  const queue: (() => void)[] = [];

  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) free++;
    else next();
  };
  const once = (): (() => void) => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave();
    };
  };

  return async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => queue.push(resolve));
    return once();
  };
}
