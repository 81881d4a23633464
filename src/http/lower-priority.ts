import { platform, setPriority } from 'node:os';

/**
 * Lets the other threads of the process go first. Linux counts priorities by thread; elsewhere this would slow the whole
 * process down, so nothing is done there.
 */
export function lowerPriority(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(niceness);
  } catch {
    // Not permitted here: the thread works all the same.
  }
}

/** The lowest there is: on a machine with few cores, whatever is above it still delays the event loop by milliseconds. */
const niceness = 19;
