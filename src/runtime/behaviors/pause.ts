/** Timers that do not keep the process alive unless requested. */
import type { Clock } from '../../base/clock.ts';
import type { Engine } from '../state/engine.ts';

/** Waits for a duration, or until the signal is aborted. */
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

/**
 * Waits until a time by the ledger's clock, but no longer than requested: that clock may have been set back.
 */
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
