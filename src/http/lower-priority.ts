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

const niceness = 10;
