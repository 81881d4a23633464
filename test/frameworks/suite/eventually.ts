import { vi } from 'vitest';

/**
 * Repeats a look until it throws nothing, and gives what it found. `vi.waitFor` alone gives up after a second, which a
 * busy machine takes for many things.
 */
export const eventually = <Found>(look: () => Found | Promise<Found>): Promise<Found> =>
  vi.waitFor(look, { timeout: 60_000, interval: 20 });
