/**
 * Where recovered calls wait before their intent until the others of their batch are there, or have ended. The checks
 * before a body are code of the host and of tools, which may have ended the last process: no recovered body that may run
 * only once is under way while they run.
 */
import type { Deadlines } from '../../base/deadlines.ts';

export type StartLine = {
  /** Waits for the others. */
  readonly awaitStart: () => Promise<() => void>;
  /** This one will not come any more. Does nothing for one that came. */
  leave(): void;
};

/** One place for each call of a batch. None waits longer than `longestWaitMs`: a check may wait for another call. */
export function drawStartLine(count: number, deadlines: Deadlines, longestWaitMs = 10_000): StartLine[] {
  const open = Promise.withResolvers<void>();
  const watch = deadlines.watch(longestWaitMs, () => open.resolve());
  let missing = count;
  const arrive = (): void => {
    if (--missing > 0) return;
    watch.stop();
    open.resolve();
  };
  return Array.from({ length: count }, () => {
    let isHere = false;
    const come = (): void => {
      if (isHere) return;
      isHere = true;
      arrive();
    };
    return {
      awaitStart: async () => {
        come();
        await open.promise;
        return () => undefined;
      },
      leave: come,
    };
  });
}
