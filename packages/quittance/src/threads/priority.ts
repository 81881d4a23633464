/** Priorities of threads. */
import { getPriority, platform, setPriority } from 'node:os';

/**
 * Lowers the priority of this thread. Linux has priorities per thread. On other systems this would slow down the whole
 * process, so it does nothing there.
 */
export function lowerPriority(niceness: number): void {
  if (platform() !== 'linux') return;
  try {
    // A host that runs at a lower priority already keeps it.
    if (getPriority() < niceness) setPriority(niceness);
  } catch {
    // Not permitted here. The thread works without it.
  }
}

/**
 * For threads that answer requests: the event loop of the server goes first. On a machine whose other programs want all
 * processors, the thread still gets about a tenth of one. At the lowest priority (19) it would get a hundredth, and
 * pages of the console would not load.
 */
export const behindServer = 10;
