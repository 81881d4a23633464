/**
 * Recovered calls wait here before their intent until the others of their batch arrive or end. The checks
 * before a body are code of the host and of tools, which may have ended the last process. So no body that may
 * run only once runs at the same time as these checks.
 */
import type { Deadlines } from '../../base/deadlines.ts';

export type StartLine = {
  /** Waits for the others. */
  readonly awaitStart: () => Promise<() => void>;
  /** Removes a call that will not arrive. Does nothing for one that has arrived. */
  leave(): void;
};

/**
 * One slot for each call of a batch. No call waits longer than `longestWaitMs`, since a check may wait for
 * another call.
 */
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
