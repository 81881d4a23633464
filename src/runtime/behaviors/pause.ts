/** Waiting, which keeps no process alive unless somebody says so. */
import type { Clock } from '../../base/clock.ts';
import type { Engine } from '../state/engine.ts';

/** Until so much time has passed, or there is no need to wait any more. */
export function pause(clock: Clock, ms: number, signal: AbortSignal, keepAlive = false): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      timer.stop();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.startTimer(wake, ms);
    timer.keepAlive(keepAlive);
    signal.addEventListener('abort', wake);
  });
}

const longestPauseMs = 3_600_000;

/** Until a moment by the ledger's clock, and no longer than was asked for: that clock may have been set back since. */
export async function pauseUntil(
  { ledger, clock }: Engine,
  { notBefore, at }: { readonly notBefore: number | undefined; readonly at: number },
  signal: AbortSignal,
): Promise<void> {
  if (notBefore === undefined) return;
  const latest = clock.monotonicMs() + notBefore - at;
  while (!signal.aborted) {
    const leftMs = Math.min(notBefore - ledger.now(), latest - clock.monotonicMs());
    if (leftMs <= 0) return;
    await pause(clock, Math.min(leftMs, longestPauseMs), signal);
  }
}
