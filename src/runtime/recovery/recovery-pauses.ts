import type { Clock } from '../../base/clock.ts';

/** How often progress is reported, in calls. */
const reportEvery = 64;
/** Other work gets a turn after this many calls, or sooner if they took long. Checked every few calls. */
const yieldEvery = 256;
const longestSliceMs = 8;
const lookEvery = 16;

/** Yields to other work after some calls, and reports progress. */
export function createPauses(
  clock: Clock,
  report: () => void,
): { readonly rest: Promise<void> | undefined; count(): void } {
  let looked = 0;
  let rest: Promise<void> | undefined;
  let sliceBeganMs = clock.monotonicMs();
  return {
    get rest() {
      return rest;
    },
    count() {
      if (++looked % reportEvery === 0) report();
      if (looked % lookEvery !== 0 || rest !== undefined) return;
      if (looked % yieldEvery !== 0 && clock.monotonicMs() - sliceBeganMs < longestSliceMs) return;
      rest = new Promise<void>((resolve) => {
        setImmediate(() => {
          rest = undefined;
          sliceBeganMs = clock.monotonicMs();
          resolve();
        });
      });
    },
  };
}
