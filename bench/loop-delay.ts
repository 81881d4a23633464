/** Samples how late timers fire: the time for which the event loop is blocked. */

const everyMs = 2;

/** Adds a sample to `delays` every two milliseconds until the returned function is called. */
export function sampleLoopDelay(delays: number[]): () => void {
  let dueMs = 0;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    dueMs = performance.now() + everyMs;
    timer = setTimeout(() => {
      delays.push(Math.max(0, performance.now() - dueMs));
      wait();
    }, everyMs);
  };
  wait();
  return () => {
    // A blocked loop counts even if no timer fired since.
    delays.push(Math.max(0, performance.now() - dueMs));
    clearTimeout(timer);
  };
}
