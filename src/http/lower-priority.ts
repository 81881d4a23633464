import { platform, setPriority } from 'node:os';

/**
 * Lowers the priority of this thread. Linux has priorities per thread. On other systems this would slow down the whole
 * process, so it does nothing there.
 */
export function lowerPriority(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(niceness);
  } catch {
    // Not permitted here. The thread works without it.
  }
}

/** The lowest there is: on a machine with few cores, whatever is above it still delays the event loop by milliseconds. */
const niceness = 19;
