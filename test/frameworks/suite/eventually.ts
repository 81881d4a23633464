import { vi } from 'vitest';

/**
 * Repeats a check until it does not throw, and returns its result. `vi.waitFor` alone gives up after a
 * second, which is too short on a busy machine.
 */
export const eventually = <Found>(look: () => Found | Promise<Found>): Promise<Found> =>
  vi.waitFor(look, { timeout: 60_000, interval: 20 });
