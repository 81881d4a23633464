/**
 * Time for limits of work in threads. Wall-clock time includes the time of other programs: if they use all
 * processors, a small request would be refused as too large. Only Linux reports how long a thread waited for
 * a processor. On other systems the time is wall-clock time.
 */
import { readFileSync, readlinkSync } from 'node:fs';

/** This thread, by a name that other threads of the process can use. Undefined if the system has none. */
export function nameThisThread(): string | undefined {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}`;
  } catch {
    return undefined; // not Linux
  }
}

/** A waiting thread also waits for starved helpers, such as the garbage collector: up to this many times as long. */
const mostHelpersWait = 10;

/**
 * Starts a clock for the work of a thread, this one by default. It gives the milliseconds since then that the work would
 * have taken if the thread had got a processor whenever it wanted one.
 */
export function startThreadClock(thread = '/proc/thread-self'): () => number {
  const beganMs = performance.now();
  const before = readSchedule(thread);
  return () => {
    const wallMs = performance.now() - beganMs;
    const now = readSchedule(thread);
    const [ranMs, waitedMs] = [now.ranMs - before.ranMs, now.waitedMs - before.waitedMs];
    if (!(waitedMs > 0)) return wallMs;
    const share = ranMs / (ranMs + waitedMs);
    return Math.max(wallMs * share, wallMs - mostHelpersWait * waitedMs);
  };
}

/** How long a thread ran, and how long it waited for a processor, since it started. */
function readSchedule(thread: string): { readonly ranMs: number; readonly waitedMs: number } {
  try {
    // In nanoseconds.
    const [ran, waited] = readFileSync(`${thread}/schedstat`, 'latin1').split(' ');
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return { ranMs: 0, waitedMs: 0 }; // not Linux, or the thread has ended
  }
}
